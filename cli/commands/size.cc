// `onceward size`: what a ledger would need, by the measured figures of docs/scale.md.

#include <array>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands/commands.h"
#include "cli/composition/memory_budget.h"
#include "cli/configuration/load.h"
#include "cli/size/estimate.h"
#include "cli/terminal/command.h"
#include "cli/terminal/config_file.h"
#include "cli/terminal/help.h"
#include "cli/terminal/option_checks.h"
#include "cli/terminal/output.h"
#include "cli/terminal/quantities.h"

namespace onceward {
namespace {

constexpr std::array stores{StoreKind::table, StoreKind::log, StoreKind::lease};

struct SizeOptions {
    double rate = 0;
    ConfigFile config;
    std::string topic;
    std::string retention;
    std::string rotate_after;
    std::int64_t processes = 1;
    std::int64_t message_bytes = 374;
    bool json = false;
};

std::chrono::seconds duration_in(const std::string& option, const std::string& text) {
    const auto duration = parse_duration(text);
    usage_error_if(!duration || *duration < std::chrono::seconds(1),
                   option + " takes a duration of 1s or more, such as 24h");
    return std::chrono::floor<std::chrono::seconds>(*duration);
}

// The ledger of the topic that was named, or of the first one.
const LedgerOptions& ledger_in(const Configuration& configuration, const std::string& topic) {
    for (const TopicConfiguration& candidate : configuration.topics) {
        if (topic.empty() || candidate.name == topic) {
            return configuration.ledgers.at(candidate.ledger);
        }
    }
    throw UsageError(topic.empty() ? "the configuration has no topic; give --retention instead"
                                   : "the configuration has no topic " + topic);
}

// A budget that the file does not set is not known here: it depends on the machine.
std::int64_t memory_claims_in(const Configuration& configuration) {
    const std::optional<std::int64_t> set = configuration.memory_budget;
    return claims_memory_each(configuration, set ? memory_budget(set) : std::nullopt);
}

Workload workload_of(const SizeOptions& options) {
    Workload workload;
    workload.rate = options.rate;
    workload.processes = options.processes;
    workload.message_bytes = options.message_bytes;
    if (options.config.is_named()) {
        const Configuration configuration = load_or_throw(options.config.path());
        const LedgerOptions& ledger = ledger_in(configuration, options.topic);
        workload.retention = ledger.retention;
        workload.rotate_after = std::chrono::ceil<std::chrono::seconds>(ledger.rotate_after);
        workload.rotate_claims = ledger.rotate_claims.value_or(workload.rotate_claims);
        workload.memory_claims = memory_claims_in(configuration);
    }
    if (!options.retention.empty()) {
        workload.retention = duration_in("--retention", options.retention);
    }
    if (!options.rotate_after.empty()) {
        workload.rotate_after = duration_in("--rotate-after", options.rotate_after);
    }
    return workload;
}

std::string cores_text(const std::optional<Estimate>& cores) {
    return cores ? short_number(cores->value) : "not measured";
}

std::string seconds_text(double seconds) {
    return short_number(std::round(seconds * 10) / 10) + " s";
}

void print_table_of(const std::array<SizeEstimate, 3>& all) {
    TextTable table({"", "table", "log", "lease"});
    const auto line = [&](const std::string& name, auto text) {
        table.add({name, text(all[0]), text(all[1]), text(all[2])});
    };
    line("disk of the claims", [](const auto& one) { return bytes_text(one.disk.value); });
    line("memory of the claims, each process",
         [](const auto& one) { return bytes_text(one.memory.value); });
    line("WAL a second, without the sink",
         [](const auto& one) { return bytes_text(one.wal.value); });
    line("WAL a second of the sink's rows, at least",
         [](const auto& one) { return bytes_text(one.row_wal.value); });
    line("cores, workers", [](const auto& one) { return cores_text(one.worker_cores); });
    line("cores, PostgreSQL", [](const auto& one) { return cores_text(one.server_cores); });
    line("a start", [](const auto& one) { return seconds_text(one.start.value); });
    table.print(std::cout);
}

void print_formulas(const SizeEstimate& one) {
    std::cout << '\n' << to_text(one.store) << '\n';
    const auto line = [](const std::string& name, const Estimate& part) {
        std::cout << "  " << name << " = " << part.formula << '\n';
    };
    line("disk", one.disk);
    line("memory", one.memory);
    line("WAL", one.wal);
    if (one.worker_cores) line("cores, workers", *one.worker_cores);
    if (one.server_cores) line("cores, PostgreSQL", *one.server_cores);
    line("start", one.start);
}

// Look-ups are not in the figures: how many there are depends on the keys.
void tell_lack(const SizeEstimate& one) {
    if (one.claims_memory <= one.memory.value) return;
    std::cout << "\nThe claims of " << to_text(one.store) << " need "
              << bytes_text(one.claims_memory)
              << " in each process, which is more than memory.claims. Raise it,\nor sealed claims "
                 "are looked up in PostgreSQL: the cores above are then too few, and\nthe rate is "
                 "several times lower.\n";
}

nlohmann::json part_json(const Estimate& part) {
    return {{"value", part.value}, {"formula", part.formula}};
}

nlohmann::json estimate_json(const SizeEstimate& one) {
    nlohmann::json json{{"disk_bytes", part_json(one.disk)},
                        {"memory_bytes_each_process", part_json(one.memory)},
                        {"claims_memory_needed_bytes", one.claims_memory},
                        {"wal_bytes_per_second", part_json(one.wal)},
                        {"sink_wal_bytes_per_second", part_json(one.row_wal)},
                        {"start_seconds", part_json(one.start)},
                        {"worker_cores", nullptr},
                        {"server_cores", nullptr}};
    if (one.worker_cores) json["worker_cores"] = part_json(*one.worker_cores);
    if (one.server_cores) json["server_cores"] = part_json(*one.server_cores);
    return json;
}

int size(const SizeOptions& options) {
    usage_error_if(!(options.rate > 0) || !std::isfinite(options.rate),
                   "--rate takes the messages a second, above 0");
    usage_error_if(!options.topic.empty() && !options.config.is_named(),
                   "--topic names a topic of a configuration: give it with -c");
    const Workload workload = workload_of(options);
    const Claims claims = claims_of(workload);
    std::array<SizeEstimate, 3> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = estimate(stores[i], workload);
    if (options.json) {
        nlohmann::json json{{"live_claims", claims.live}, {"open_claims", claims.open}};
        for (const SizeEstimate& one : all) {
            json["stores"][std::string(to_text(one.store))] = estimate_json(one);
        }
        print_json(json);
        return exit_ok;
    }
    std::cout << "live claims = " << count_text(workload.rate) << "/s x ("
              << duration_text(workload.retention) << " retention + "
              << duration_text(workload.rotate_after) << " rotation) = " << count_text(claims.live)
              << "; processes: " << workload.processes << "\n\n";
    print_table_of(all);
    for (const SizeEstimate& one : all) print_formulas(one);
    for (const SizeEstimate& one : all) tell_lack(one);
    std::cout << "\nBy the figures of docs/scale.md, measured on one machine of two cores. Lag "
                 "adds to the retention."
              << std::endl;
    return exit_ok;
}

}  // namespace

void add_size(CLI::App& program, Commands& commands) {
    CLI::App* command = program.add_subcommand(
        "size", "Work out disk, memory, WAL and start time of a ledger, by measured figures");
    auto options = std::make_shared<SizeOptions>();
    command->add_option("--rate", options->rate, "Messages a second, each with a key of its own")
        ->required()
        ->type_name("NUMBER");
    add_config_option(*command, options->config);
    command->add_option("--topic", options->topic, "With -c: the topic; otherwise the first one")
        ->type_name("NAME");
    command->add_option("--retention", options->retention, "How long claims are kept (24h)")
        ->type_name("DURATION");
    command
        ->add_option("--rotate-after", options->rotate_after,
                     "The age at which a generation is sealed (3h)")
        ->type_name("DURATION");
    command->add_option("--processes", options->processes, "Processes of the group")
        ->check(whole_number(1, 100'000))
        ->capture_default_str()
        ->type_name("N");
    command
        ->add_option("--message-bytes", options->message_bytes,
                     "Bytes of the row that a message becomes")
        ->check(whole_number(0, 1'000'000'000))
        ->capture_default_str()
        ->type_name("N");
    command->add_flag("--json", options->json, "Print one JSON object");
    end_help(*command, {.notes = "Retention and rotation are those of the configuration if -c "
                                 "names one; without -c none is read.",
                        .examples = {{"size --rate 5000", "a day's keys, in each store"},
                                     {"size --rate 5000 --retention 7d", "a week's"}}});
    commands.add(*command, [options] { return size(*options); });
}

}  // namespace onceward
