// `onceward test`: unit tests of a configuration, offline.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/configuration/databases.h"
#include "cli/configuration/load.h"
#include "cli/configuration/yaml_text.h"
#include "cli/fixtures/test_suite.h"
#include "cli/fixtures/update.h"
#include "cli/terminal/command.h"
#include "cli/terminal/config_file.h"
#include "cli/terminal/help.h"
#include "cli/test_schema.h"
#include "dedup/postgres/connection.h"
#include "sinks/columns/declared_table.h"

namespace onceward {
namespace {

struct TestOptions {
    ConfigFile config;
    std::vector<std::string> files;
    std::string only;
    std::string junit;
    bool json = false;
    bool update = false;
    bool schema = false;
    bool print_tables = false;
};

std::string text_of(const std::string& file) {
    std::error_code error;
    usage_error_if(std::filesystem::is_directory(file, error),
                   file + " is a folder: name its test files, such as " + file + "/*.test.yaml");
    std::ifstream stream(file, std::ios::binary);
    usage_error_if(!stream, "the test file " + file + " cannot be read");
    return {std::istreambuf_iterator<char>(stream), {}};
}

// The variables of the test file take precedence over the process's.
Configuration configuration_of(const TestOptions& options, const FixtureFile& fixtures) {
    std::string file;
    if (options.config.is_named() || fixtures.config.empty()) {
        file = options.config.path();
    } else {
        file = (std::filesystem::path(fixtures.file).parent_path() / fixtures.config).string();
    }
    LoadOptions load;
    load.strict_environment = false;
    load.environment = [&](const std::string& name) -> std::optional<std::string> {
        if (const auto own = fixtures.environment.find(name); own != fixtures.environment.end()) {
            return own->second;
        }
        const char* value = std::getenv(name.c_str());
        return value == nullptr ? std::nullopt : std::optional<std::string>(value);
    };
    LoadResult loaded = load_configuration(file, load);
    if (loaded.usable()) check_setup(loaded);
    // What is not known must not be tested: the test would pass by a default.
    for (const std::string& path : loaded.unknown) {
        if (!path.starts_with("topics")) continue;
        loaded.findings.push_back({Finding::Severity::error, {}, path,
                                   "A variable in it is not set. A test file can set it under "
                                   "`environment`."});
    }
    return usable_or_throw(std::move(loaded), file);
}

void update_file(const SuiteOutcome& suite, const std::string& text) {
    std::vector<ScalarChange> changes;
    std::vector<nlohmann::ordered_json> expected;
    std::vector<Mark> topics;
    std::vector<Mark> left;
    for (const TestOutcome& test : suite.tests) {
        for (const RecordFault& fault : test.faults) {
            const Difference& each = fault.difference;
            const bool adds = !test.records[fault.record - 1].expect;
            if (each.replacement) changes.push_back({each.mark, *each.replacement});
            if (!each.replacement && !adds) left.push_back(each.mark);
        }
        for (std::size_t i = 0; i < test.results.size(); ++i) {
            if (test.records[i].expect) continue;
            expected.push_back(result_json(test.results[i]));
            topics.push_back(test.records[i].topic_mark);
        }
    }
    std::vector<ExpectationToAdd> additions;
    for (std::size_t i = 0; i < topics.size(); ++i) additions.push_back({topics[i], &expected[i]});
    const FixtureUpdate update = updated(text, changes, additions);
    std::ranges::copy(update.left, std::back_inserter(left));
    if (update.written > 0) {
        std::ofstream stream(suite.file, std::ios::binary | std::ios::trunc);
        if (!(stream << update.text).flush()) {
            throw std::runtime_error(suite.file + " cannot be written");
        }
    }
    std::cout << suite.file << ": " << update.written << " places written\n";
    for (const Mark& mark : left) {
        std::cout << suite.file << ':' << mark.line << ": not written, change it by hand\n";
    }
}

SuiteOutcome run_file(const TestOptions& options, const std::string& file) {
    const std::string text = text_of(file);
    Report report;
    const FixtureFile fixtures = read_fixtures(text, file, report);
    const std::vector<Finding> findings = report.sorted();
    if (!findings.empty()) {
        for (const Finding& finding : findings) std::cerr << to_text(finding, file) << '\n';
        return {file, findings, {}};
    }
    SuiteOutcome suite = run_suite(fixtures, configuration_of(options, fixtures), options.only);
    if (!options.json) print_suite(suite, std::cout);
    if (options.update) update_file(suite, text);
    return suite;
}

int run_files(const TestOptions& options) {
    usage_error_if(options.files.empty(), "name a test file, or several");
    usage_error_if(options.update && options.json, "--update prints lines, not --json");
    std::vector<SuiteOutcome> suites;
    auto json = nlohmann::ordered_json::array();
    std::size_t tests = 0;
    std::size_t failed = 0;
    std::size_t unreadable = 0;
    for (const std::string& file : options.files) {
        const SuiteOutcome& suite = suites.emplace_back(run_file(options, file));
        json.push_back(suite_json(suite));
        unreadable += suite.findings.empty() ? 0 : 1;
        tests += suite.tests.size();
        failed += static_cast<std::size_t>(std::ranges::count_if(
            suite.tests, [](const TestOutcome& test) { return !test.passed(); }));
    }
    if (!options.junit.empty()) {
        std::ofstream stream(options.junit, std::ios::binary | std::ios::trunc);
        if (!(stream << junit_xml(suites)).flush()) {
            throw std::runtime_error(options.junit + " cannot be written");
        }
    }
    if (options.json) {
        std::cout << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
                  << std::endl;
    } else {
        std::cout << tests << (tests == 1 ? " test: " : " tests: ") << tests - failed
                  << " passed, " << failed << " failed";
        if (unreadable > 0) std::cout << "; files that cannot be run: " << unreadable;
        std::cout << std::endl;
    }
    if (unreadable > 0) return exit_config;
    // A name that nothing has must not look like success.
    if (tests == 0) return exit_not_found;
    return failed > 0 ? exit_failure : exit_ok;
}

// The section `tables` of a test file, as the database has the tables now.
int print_tables(const TestOptions& options) {
    std::string text = "tables:\n";
    for (const Configuration& database : by_database(load_or_throw(options.config.path()))) {
        Connection connection(database.postgres);
        for (const TopicConfiguration& topic : database.topics) {
            const auto* sink = std::get_if<TableSinkOptions>(&topic.sink);
            if (sink == nullptr) continue;
            const auto table = read_table(connection, sink->table);
            if (!table) throw std::runtime_error("there is no table `" + sink->table + "`");
            const std::string head = "  " + yaml_scalar(sink->table) + ":\n";
            if (text.find(head) != std::string::npos) continue;
            text += head;
            for (const CatalogColumn& column : table->columns) {
                text += "    " + yaml_scalar(column.name) + ": " + declarable(*table, column) +
                        "\n";
            }
        }
    }
    std::cout << text << std::flush;
    return exit_ok;
}

int test(const TestOptions& options) {
    if (options.schema) {
        std::cout << schemas::tests << std::flush;
        return exit_ok;
    }
    return options.print_tables ? print_tables(options) : run_files(options);
}

}  // namespace

void add_test(CLI::App& program, Commands& commands) {
    CLI::App* command =
        program.add_subcommand("test", "Run unit tests of a configuration, without any connection");
    auto options = std::make_shared<TestOptions>();
    command->add_option("files", options->files, "Files with tests")->type_name("FILE");
    add_config_option(*command, options->config);
    command->add_option("--only", options->only, "Only tests whose name contains this")
        ->type_name("TEXT");
    command->add_flag("--json", options->json, "Print one JSON array: each file with its tests");
    command->add_option("--junit", options->junit, "Also write JUnit's XML to this file")
        ->type_name("FILE");
    command->add_flag("--update", options->update,
                      "Write what was got into the test files, where that is simple");
    command->add_flag("--schema", options->schema, "Print the JSON Schema of test files");
    command->add_flag("--print-tables", options->print_tables,
                      "Print the section `tables` of a test file, from the database");
    end_help(*command,
             {.notes = "The configuration that a test file names comes before the default one.",
              .examples = {{"test payments.test.yaml", "its records through the configuration"},
                           {"test --junit report.xml tests/*.yaml", "for a CI server"},
                           {"test --update payments.test.yaml", "write what was got into it"}},
              .exit_codes = {{exit_ok, "all passed"},
                             {exit_failure, "a test failed"},
                             {exit_not_found, "no test has such a name"},
                             {exit_config, "the configuration or a test file is wrong"}}});
    commands.add(*command, [options] { return test(*options); });
}

}  // namespace onceward
