// `onceward check`: everything that is wrong with a configuration, at once. Without --connect it
// opens no connection and uses only the file and the environment.

#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/check/connect.h"
#include "cli/check/sample.h"
#include "cli/commands/commands.h"
#include "cli/configuration/databases.h"
#include "cli/configuration/load.h"
#include "cli/terminal/command.h"
#include "cli/terminal/config_file.h"
#include "cli/terminal/counted.h"
#include "cli/terminal/help.h"
#include "cli/terminal/option_checks.h"
#include "cli/terminal/output.h"

namespace onceward {
namespace {

struct CheckOptions {
    ConfigFile config;
    bool strict_environment = false;
    bool connect = false;
    int sample = 0;
    std::size_t max_rejected = 0;
    bool json = false;
};

struct CheckResult : ConnectResult {
    std::vector<SampledRecord> samples;

    bool has_errors() const {
        return std::ranges::any_of(findings, [](const Finding& finding) {
            return finding.severity == Finding::Severity::error;
        });
    }
    std::size_t rejected() const {
        return static_cast<std::size_t>(
            std::ranges::count(samples, "rejected", &SampledRecord::outcome));
    }
    void add(ConnectResult more) {
        std::ranges::move(more.findings, std::back_inserter(findings));
        std::ranges::move(more.good, std::back_inserter(good));
    }
};

void print_text(const CheckResult& result, const CheckOptions& options, const std::string& file) {
    std::size_t errors = 0;
    for (const Finding& finding : result.findings) {
        errors += finding.severity == Finding::Severity::error ? 1 : 0;
        print_judged(std::cerr, to_text(finding, file));
    }
    for (const std::string& line : result.good) std::cout << "good: " << line << '\n';
    std::map<std::string, std::size_t> outcomes;
    for (const SampledRecord& record : result.samples) {
        std::cout << record.topic << '/' << record.partition << '@' << record.offset << ": "
                  << record.outcome << (record.reason.empty() ? "" : ", ") << record.reason << '\n';
        ++outcomes[record.outcome];
    }
    for (const auto& [outcome, count] : outcomes) {
        std::cout << "sample: " << count << ' ' << outcome << '\n';
    }
    std::string summary = file + ": ";
    const std::size_t rejected = result.rejected();
    if (errors > 0) {
        summary += counted(errors, "error");
    } else if (rejected > options.max_rejected) {
        summary += std::to_string(rejected) + " of " + counted(result.samples.size(), "record") +
                   " would be rejected";
    } else {
        summary += "good";
    }
    const std::size_t warnings = result.findings.size() - errors;
    if (warnings > 0) summary += ", " + counted(warnings, "warning");
    std::cout << summary << std::endl;
}

void print_result_json(const CheckResult& result, const std::string& file) {
    auto samples = nlohmann::ordered_json::array();
    for (const SampledRecord& record : result.samples) {
        samples.push_back({{"topic", record.topic},
                           {"partition", record.partition},
                           {"offset", record.offset},
                           {"outcome", record.outcome},
                           {"reason", record.reason},
                           {"digest", record.digest}});
    }
    const nlohmann::ordered_json whole = {
        {"findings", nlohmann::ordered_json::parse(findings_json(result.findings, file))},
        {"good", result.good},
        {"samples", samples}};
    std::cout << whole.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
              << std::endl;
}

CheckResult look(const CheckOptions& options, const std::string& file) {
    LoadOptions load;
    // An address to connect to must be known, so all variables must be set.
    load.strict_environment = options.strict_environment || options.connect || options.sample > 0;
    LoadResult loaded = load_configuration(file, load);
    if (loaded.usable()) check_setup(loaded);
    CheckResult result;
    result.findings = loaded.findings;
    std::ranges::copy(loaded.passwords, std::back_inserter(result.findings));
    if (result.has_errors() || (!options.connect && options.sample == 0)) return result;
    result.add(check_brokers(loaded.configuration));
    result.add(check_registries(loaded.configuration));
    // This includes a server that only routes use; fences and records belong to topics.
    for (const Configuration& database : used_databases(loaded.configuration)) {
        result.add(check_database(database));
    }
    const std::vector<Configuration> databases = by_database(loaded.configuration);
    if (result.has_errors()) return result;
    for (const Configuration& database : databases) result.add(check_fences(database));
    if (result.has_errors() || options.sample == 0) return result;
    for (const Configuration& database : databases) {
        Sample sample = sample_records(database, options.sample);
        std::ranges::move(sample.records, std::back_inserter(result.samples));
        result.add(std::move(sample.spread));
    }
    return result;
}

int check(const CheckOptions& options) {
    const std::string file = options.config.path();
    const CheckResult result = look(options, file);
    if (options.json) {
        print_result_json(result, file);
    } else {
        print_text(result, options, file);
    }
    if (result.has_errors()) return exit_config;
    return result.rejected() > options.max_rejected ? exit_data : exit_ok;
}

}  // namespace

void add_check(CLI::App& program, Commands& commands) {
    CLI::App* command = program.add_subcommand(
        "check", "Look for mistakes in a configuration; changes nothing");
    auto options = std::make_shared<CheckOptions>();
    add_config_option(*command, options->config);
    command->add_flag("--strict-env", options->strict_environment,
                      "A variable that is not set is an error, as it is in `run`");
    command->add_flag("--connect", options->connect,
                      "Also ask brokers, schema registries and database: topics, group, schema, "
                      "privileges, sinks");
    CLI::Option* sample =
        command
            ->add_option("--sample", options->sample,
                         "Also pass up to N of each topic's newest records through decoder, key "
                         "and sink, and show what would become of each; writes nothing")
            ->check(whole_number(1, 10'000))
            ->type_name("N");
    command
        ->add_option("--max-rejected", options->max_rejected,
                     "How many records may be rejected without a failure")
        ->capture_default_str()
        ->check(whole_number())
        ->needs(sample)
        ->type_name("N");
    command->add_flag("--json", options->json, "Print one JSON object: findings, good, samples");
    end_help(*command,
             {.examples = {{"check", "the file alone, without a connection"},
                           {"check --connect", "also ask the brokers and the database"},
                           {"check --sample 100", "also try the newest records of each topic"}},
              .exit_codes = {{exit_ok, "nothing is wrong"},
                             {exit_data, "more records than --max-rejected would be rejected"}}});
    commands.add(*command, [options] { return check(*options); });
}

}  // namespace onceward
