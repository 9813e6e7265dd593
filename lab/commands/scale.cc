// `onceward-lab scale`: worker processes on one and on two servers, and docs/scale.md's model of
// them.

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <list>
#include <memory>
#include <stdexcept>
#include <thread>

#include "cli/terminal/command.h"
#include "dedup/base/logging.h"
#include "lab/bench/format.h"
#include "lab/bench/machine.h"
#include "lab/bench/rows.h"
#include "lab/commands/commands.h"
#include "lab/embedded/private_postgres.h"
#include "lab/scale/measure.h"
#include "lab/scale/report.h"

namespace onceward {
namespace {

constexpr int most_servers = 2;

struct ScaleArguments {
    std::string bootstrap_servers;
    std::int64_t broker_pid = 0;
    std::string commit;
    std::int64_t messages = 1'000'000;
    int rounds = 3;
    std::vector<int> processes{1, 2, 4, 8};
    std::string page;
};

std::string line_of(const scale::Point& point) {
    return std::to_string(point.processes) +
           (point.processes == 1 ? " process on " : " processes on ") +
           std::to_string(point.servers) + (point.servers == 1 ? " server: " : " servers: ") +
           bench::fixed(point.rate, 0) + " messages/s; CPU s a million: worker " +
           bench::fixed(point.cpu.worker, 2) + ", PostgreSQL " +
           bench::fixed(point.cpu.postgres, 2) + ", broker " + bench::fixed(point.cpu.broker, 2) +
           "; " + bench::fixed(point.busy, 2) + " cores busy; " + bench::fixed(point.batch, 0) +
           " messages a batch";
}

// The points in their order, not measured.
std::vector<scale::Point> points_of(const ScaleArguments& arguments) {
    std::vector<scale::Point> points;
    for (int servers = 1; servers <= most_servers; ++servers) {
        for (const int processes : arguments.processes) {
            if (processes % servers != 0) continue;
            scale::Point point;
            point.servers = servers;
            point.processes = processes;
            points.push_back(point);
        }
    }
    return points;
}

// In turn, so that what else the machine does touches all alike.
std::vector<scale::Point> rounds(const scale::Setup& setup, const ScaleArguments& arguments) {
    std::vector<std::vector<scale::Point>> runs(points_of(arguments).size());
    for (int round = 1; round <= arguments.rounds; ++round) {
        std::size_t number = 0;
        for (const scale::Point& point : points_of(arguments)) {
            auto& found = runs[number++];
            found.push_back(scale::measure(setup, point.servers, point.processes));
            std::cerr << round << ". " << line_of(found.back()) << std::endl;
        }
    }
    std::vector<scale::Point> points;
    for (const auto& found : runs) points.push_back(scale::medians(found));
    return points;
}

std::string circumstances(const ScaleArguments& arguments, const bench::MachineTime& begin) {
    std::string text = "Medians of " + std::to_string(arguments.rounds) +
                       (arguments.rounds == 1 ? " round" : " rounds") + " with " +
                       bench::grouped(arguments.messages) +
                       " messages of 374 bytes each, `log`, reach global; commit " +
                       arguments.commit;
    for (const auto& [name, value] : bench::describe_machine(
             std::filesystem::canonical(std::filesystem::temp_directory_path()).string())) {
        if (name == "day" || name == "processor") text += "; " + value;
    }
    return text + "; the host took " + bench::stolen_between(begin, bench::machine_time()) + ".";
}

void write_into(const std::string& path, const std::string& text) {
    std::ifstream file(path);
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    const std::string written = scale::put_into(page, text);
    std::ofstream out(path);
    out << written;
    if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

int run(const ScaleArguments& arguments) {
    LogOptions quiet;
    quiet.level = LogLevel::error;
    configure_log(quiet);
    std::list<PrivatePostgres> postgres;
    scale::Setup setup;
    setup.place.bootstrap_servers = arguments.bootstrap_servers;
    setup.place.cpu.broker = static_cast<pid_t>(arguments.broker_pid);
    setup.messages = arguments.messages;
    for (int i = 0; i < most_servers; ++i) {
        postgres.emplace_back(bench::bench_server());
        ConnectionOptions connection;
        connection.dsn = postgres.back().dsn();
        setup.servers.push_back({postgres.back().pid(), connection});
    }
    // Before minutes are spent: these points determine the model.
    scale::fit(points_of(arguments), [](const scale::Point&) { return 1.0; });
    const bench::MachineTime begin = bench::machine_time();
    scale::Report report;
    report.points = rounds(setup, arguments);
    report.cores = std::thread::hardware_concurrency();
    report.circumstances = circumstances(arguments, begin);
    const std::string text = as_markdown(report);
    std::cout << text;
    if (!arguments.page.empty()) write_into(arguments.page, text);
    return exit_ok;
}

}  // namespace

void add_scale(CLI::App& program, Commands& commands) {
    CLI::App& scale = *program.add_subcommand(
        "scale", "Measure worker processes on one and on two servers, and fit the model of them");
    auto arguments = std::make_shared<ScaleArguments>();
    scale.add_option("--bootstrap-server", arguments->bootstrap_servers, "A broker")->required();
    scale
        .add_option("--broker-pid", arguments->broker_pid, "Of that broker, to count its CPU time")
        ->check(CLI::Range(1, 1 << 30))
        ->required();
    scale
        .add_option("--messages", arguments->messages, "Of a run")
        // More of them do not fit into one generation of the ledger, whose rotation is not
        // measured.
        ->check(CLI::Range(1'000, 1'900'000))
        ->capture_default_str();
    scale.add_option("--rounds", arguments->rounds, "Each point is measured so often, in turn")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
    scale.add_option("--processes", arguments->processes, "How many; may be given several times")
        ->check(CLI::Range(1, 8));
    scale.add_option("--commit", arguments->commit, "For the page");
    scale.add_option("--write", arguments->page,
                     "Also write it into this page, between its markers (docs/scale.md)");
    commands.add(scale, [arguments] { return run(*arguments); });
}

}  // namespace onceward
