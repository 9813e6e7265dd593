// `onceward-lab bench`: what deduplication costs, row by row, against a real broker and a real
// server; each row has its floor and goal.

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <stdexcept>

#include "cli/terminal/command.h"
#include "dedup/base/logging.h"
#include "lab/bench/machine.h"
#include "lab/bench/picture.h"
#include "lab/bench/report.h"
#include "lab/bench/rows.h"
#include "lab/commands/commands.h"
#include "lab/embedded/private_postgres.h"
#include "lab/queries.h"

namespace onceward {
namespace {

struct BenchOptions {
    std::string bootstrap_servers;
    std::string dsn;
    std::vector<std::string> rows;
    bench::Extent extent;
    bool quick = false;
    std::string json;
    std::string markdown;
    std::string picture;
    std::string latency_picture;
    std::int64_t broker_pid = 0;
    std::string broker_version;
    std::string commit;
    std::string peers;
    std::string peer_versions;
};

void write_report(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

bench::Report describe(const BenchOptions& options, const ConnectionOptions& postgres) {
    bench::Report report;
    report.quick = options.quick;
    report.circumstances = bench::describe_machine(
        std::filesystem::canonical(std::filesystem::temp_directory_path()).string());
    const std::string commit = options.commit.empty() ? "" : ", commit " + options.commit;
    report.circumstances.emplace_back("onceward", ONCEWARD_VERSION + commit);
    if (!options.broker_version.empty()) {
        report.circumstances.emplace_back("broker", options.broker_version);
    }
    if (!options.peer_versions.empty()) {
        report.circumstances.emplace_back("peers", options.peer_versions);
    }
    report.circumstances.emplace_back(
        "PostgreSQL", Connection(postgres).query(lab_sql::bench_settings, {}).text(0, 0));
    return report;
}

int run_bench(const BenchOptions& options) {
    for (const std::string& row : options.rows) {
        if (options.peers.empty() &&
            bench::targets_of(row).front()->by == bench::MeasuredBy::peers) {
            std::cerr << "onceward-lab bench: row " << row << " needs --peers\n";
            return exit_usage;
        }
    }
    // `| head` closes the output; the topics of this run are deleted all the same.
    std::signal(SIGPIPE, SIG_IGN);
    LogOptions quiet;
    quiet.level = LogLevel::error;
    configure_log(quiet);
    std::optional<PrivatePostgres> postgres;
    if (options.dsn.empty()) postgres.emplace(bench::bench_server());
    bench::Setup setup;
    setup.place.bootstrap_servers = options.bootstrap_servers;
    if (postgres) setup.place.cpu.postgres = postgres->pid();
    if (options.broker_pid > 0) setup.place.cpu.broker = static_cast<pid_t>(options.broker_pid);
    setup.postgres.dsn = postgres ? postgres->dsn() : options.dsn;
    setup.extent = options.quick ? bench::quick_extent() : options.extent;
    setup.folder = std::filesystem::temp_directory_path();
    if (!options.peers.empty()) setup.peers = std::filesystem::absolute(options.peers);
    setup.progress = [](const std::string& line) {
        if (!(std::cerr << line << std::endl)) throw std::runtime_error("the output was closed");
    };
    bench::Report report = describe(options, setup.postgres);
    std::vector<std::string> rows = options.rows;
    if (rows.empty()) {
        for (const std::string_view row : bench::measured_rows(!options.peers.empty())) {
            rows.emplace_back(row);
        }
    }
    const bench::MachineTime begin = bench::machine_time();
    report.rows = bench::measure(setup, rows);
    report.circumstances.emplace_back("taken by the host",
                                      bench::stolen_between(begin, bench::machine_time()));
    std::cout << bench::as_text(report);
    if (!options.json.empty()) write_report(options.json, bench::as_json(report));
    if (!options.markdown.empty()) write_report(options.markdown, bench::as_markdown(report));
    if (!options.picture.empty()) write_report(options.picture, bench::as_svg(report));
    if (const std::string svg = bench::latencies_as_svg(report);
        !options.latency_picture.empty() && !svg.empty()) {
        write_report(options.latency_picture, svg);
    }
    const bool failed = std::ranges::any_of(
        report.rows, [](const bench::RowResult& row) { return !row.failure.empty(); });
    return failed ? exit_failure : exit_ok;
}

void add_extent(CLI::App& bench, bench::Extent& extent) {
    bench.add_option("--messages", extent.messages, "Of a run")
        ->check(CLI::Range(1'000, 100'000'000))
        ->capture_default_str();
    bench.add_option("--single-messages", extent.single_messages, "Of them for a transaction each")
        ->check(CLI::Range(100, 10'000'000))
        ->capture_default_str();
    bench.add_option("--timed-messages", extent.timed_messages, "Of a run that times each")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    bench.add_option("--claims", extent.claims, "That the ledger of rows 7, 9 and 12-14 holds")
        ->check(CLI::Range(10'000, 1'000'000'000))
        ->capture_default_str();
    bench.add_option("--partitions", extent.partitions, "Of a topic")
        ->check(CLI::Range(4, 1000))
        ->capture_default_str();
    bench.add_option("--pairs", extent.pairs, "Each side of a ratio is measured so often, in turn")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
    bench.add_option("--batch", extent.batch.messages, "Messages a transaction at most")
        ->check(CLI::Range(2, 1'000'000))
        ->capture_default_str();
}

}  // namespace

void add_bench(CLI::App& program, Commands& commands) {
    CLI::App& bench = *program.add_subcommand(
        "bench", "Measure what deduplication costs, row by row, with each row's floor and goal");
    auto options = std::make_shared<BenchOptions>();
    bench
        .add_option("--bootstrap-server", options->bootstrap_servers,
                    "A broker; topics are made and removed")
        ->required();
    bench.add_option("--dsn", options->dsn,
                     "A PostgreSQL to write to, as superuser; a private one by default");
    std::vector<std::string> rows;
    for (const std::string_view row : bench::measured_rows(true)) rows.emplace_back(row);
    bench.add_option("--row", options->rows, "Only this row; may be given several times")
        ->check(CLI::IsMember(rows))
        ->allow_extra_args(false);
    add_extent(bench, options->extent);
    bench.add_flag("--quick", options->quick, "Small counts: shows that the rows run, no more");
    bench.add_option("--json", options->json, "Also write the result to this file, as JSON");
    bench.add_option("--write", options->markdown, "Also write it as docs/performance.md has it");
    bench.add_option("--picture", options->picture, "Also draw it to this file, as SVG");
    bench.add_option("--latency-picture", options->latency_picture,
                     "Also draw row 19's latencies to this file, as SVG");
    bench
        .add_option("--broker-pid", options->broker_pid, "Of a broker here, to count its CPU time")
        ->check(CLI::Range(0, 1 << 30));
    bench.add_option("--broker-version", options->broker_version, "For the report's head");
    bench.add_option("--commit", options->commit, "For the report's head");
    bench
        .add_option("--peers", options->peers,
                    "The folder of the programs for rows 4, 4b, 4c and 5 (make bench-peers)")
        ->check(CLI::ExistingDirectory);
    bench.add_option("--peer-versions", options->peer_versions, "For the report's head");
    commands.add(bench, [options] { return run_bench(*options); });
}

}  // namespace onceward
