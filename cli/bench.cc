// `onceward bench`: messages a second from a real broker's topic into a table, with dedup, with
// dedup off, and with a transaction for each message; interleaved, with the ratios of each round.

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "cli/bench/measure.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/embedded/private_postgres.h"
#include "cli/text_table.h"
#include "consumer/topic_admin.h"
#include "dedup/fence.h"
#include "dedup/log.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

using bench::Measurement;
using bench::Mode;

struct BenchOptions {
    std::string bootstrap_servers;
    std::string dsn;
    std::int64_t messages = 1'000'000;
    std::int64_t single_messages = 20'000;
    int partitions = 4;
    int rounds = 3;
    std::size_t batch = BatchLimits{}.messages;
    bool json = false;
};

struct Summary {
    double minimum;
    double median;
    double maximum;
};

Summary summarize(std::vector<double> values) {
    std::ranges::sort(values);
    return {values.front(), values[values.size() / 2], values.back()};
}

std::string number(double value, int digits) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(digits) << value;
    return text.str();
}

using Rounds = std::map<Mode, std::vector<Measurement>>;

Summary figure(const std::vector<Measurement>& runs, double (*of)(const Measurement&)) {
    std::vector<double> values;
    for (const Measurement& run : runs) values.push_back(of(run));
    return summarize(values);
}

Summary ratio(const std::vector<Measurement>& runs, const std::vector<Measurement>& against) {
    std::vector<double> values;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        values.push_back(runs[i].messages_per_second / against[i].messages_per_second);
    }
    return summarize(values);
}

double rate_of(const Measurement& run) { return run.messages_per_second; }
double cpu_of(const Measurement& run) {
    return run.worker_cpu_seconds / static_cast<double>(run.messages) * 1e6;
}
double wal_of(const Measurement& run) { return run.wal_bytes_per_message; }

void print_table(const Rounds& rounds, const std::string& settings) {
    TextTable table({"setting", "messages/s", "min", "max", "of dedup off", "of a transaction each",
                     "worker CPU s/million", "WAL bytes/message"});
    for (const auto& [mode, runs] : rounds) {
        const Summary rate = figure(runs, rate_of);
        const Summary off = ratio(runs, rounds.at(Mode::off));
        const Summary single = ratio(runs, rounds.at(Mode::single));
        table.add({std::string(name_of(mode)), number(rate.median, 0), number(rate.minimum, 0),
                   number(rate.maximum, 0), number(off.median, 2), number(single.median, 1),
                   number(figure(runs, cpu_of).median, 2), number(figure(runs, wal_of).median, 0)});
    }
    table.print(std::cout);
    std::cout << "\nMedians of " << rounds.at(Mode::dedup).size()
              << " rounds, interleaved; ratios are taken within a round. PostgreSQL: " << settings
              << '\n';
}

void print_json(const Rounds& rounds, const std::string& settings) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const auto& [mode, runs] : rounds) {
        const Summary rate = figure(runs, rate_of);
        const Summary off = ratio(runs, rounds.at(Mode::off));
        const Summary single = ratio(runs, rounds.at(Mode::single));
        rows.push_back({{"setting", name_of(mode)},
                        {"messages_per_second", rate.median},
                        {"min", rate.minimum},
                        {"max", rate.maximum},
                        {"ratio_to_dedup_off", off.median},
                        {"ratio_to_single", single.median},
                        {"worker_cpu_seconds_per_million", figure(runs, cpu_of).median},
                        {"wal_bytes_per_message", figure(runs, wal_of).median}});
    }
    const nlohmann::ordered_json result{{"postgres", settings}, {"rows", rows}};
    std::cout << result.dump(2) << '\n';
}

int run_bench(const BenchOptions& options) {
    LogOptions quiet;
    quiet.level = LogLevel::error;
    configure_log(quiet);
    std::optional<PrivatePostgres> postgres;
    if (options.dsn.empty()) {
        PrivatePostgresOptions server;
        server.settings = {{"shared_buffers", "512MB"}, {"max_wal_size", "8GB"}};
        postgres.emplace(server);
    }
    bench::Setting setting;
    setting.bootstrap_servers = options.bootstrap_servers;
    setting.postgres.dsn = postgres ? postgres->dsn() : options.dsn;
    setting.topic = "onceward-bench-" + new_uuid().substr(0, 8);
    setting.messages = options.messages;
    setting.single_messages = std::min(options.messages, options.single_messages);
    setting.batch.messages = options.batch;
    std::cerr << "Filling a topic with " << options.messages << " messages ...\n";
    bench::fill(setting, options.partitions);
    Rounds rounds;
    for (int round = 0; round < options.rounds; ++round) {
        for (const Mode mode : {Mode::dedup, Mode::off, Mode::single}) {
            rounds[mode].push_back(bench::measure(setting, mode, round));
            std::cerr << "round " << round + 1 << ", " << name_of(mode) << ": "
                      << number(rounds[mode].back().messages_per_second, 0) << " messages/s\n";
        }
    }
    delete_topic(setting.bootstrap_servers, setting.topic);
    const std::string settings(
        Connection(setting.postgres).query(sql::bench_settings, {}).text(0, 0));
    if (options.json) {
        print_json(rounds, settings);
    } else {
        print_table(rounds, settings);
    }
    return exit_ok;
}

}  // namespace

void add_bench(CLI::App& program, Commands& commands) {
    CLI::App& bench = *program.add_subcommand(
        "bench", "Measure messages a second into a table, with and without deduplication");
    auto options = std::make_shared<BenchOptions>();
    bench
        .add_option("--bootstrap-server", options->bootstrap_servers,
                    "A broker; a topic is made and removed")
        ->required();
    bench.add_option("--dsn", options->dsn, "A PostgreSQL to write to; a private one by default");
    bench.add_option("--messages", options->messages, "In the topic")
        ->check(CLI::Range(1'000, 100'000'000))
        ->capture_default_str();
    bench
        .add_option("--single-messages", options->single_messages, "Of them for a transaction each")
        ->check(CLI::Range(100, 10'000'000))
        ->capture_default_str();
    bench.add_option("--partitions", options->partitions, "Of the topic")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    bench.add_option("--rounds", options->rounds, "Each setting is measured so often, in turn")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
    bench.add_option("--batch", options->batch, "Messages a transaction at most")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    bench.add_flag("--json", options->json, "One JSON object instead of a table");
    commands.add(bench, [options] { return run_bench(*options); });
}

}  // namespace onceward
