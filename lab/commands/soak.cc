// `onceward-lab soak`: the release program under a steady load for a long time: do its memory, its
// files, the ledger's tables, WAL and lag stay flat?

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "cli/terminal/command.h"
#include "dedup/base/logging.h"
#include "lab/bench/format.h"
#include "lab/bench/machine.h"
#include "lab/commands/commands.h"
#include "lab/soak/report.h"
#include "lab/soak/run.h"

namespace onceward {
namespace {

struct SoakArguments {
    soak::Options run;
    int minutes = 100;
    std::string broker_version;
    std::string commit;
    std::string from;
    std::string markdown;
    std::string picture;
};

std::string content(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

soak::Series facts(const SoakArguments& arguments) {
    soak::Series series;
    series.facts = bench::describe_machine(
        std::filesystem::canonical(std::filesystem::temp_directory_path()).string());
    series.facts.emplace_back("commit", arguments.commit);
    series.facts.emplace_back("broker", arguments.broker_version);
    series.facts.emplace_back("time", std::to_string(arguments.minutes) + " minutes");
    series.facts.emplace_back(
        "load", bench::fixed(arguments.run.rate, 0) + " messages/s of 374 bytes, four partitions");
    series.facts.emplace_back("ledger", "`log`, reach global, retention " +
                                            std::to_string(arguments.run.retention.count()) +
                                            " minutes");
    return series;
}

int report(const SoakArguments& arguments, const soak::Series& series) {
    const auto findings = soak::judge(series);
    if (!arguments.markdown.empty()) {
        write_file(arguments.markdown, soak::as_markdown(series, findings));
    }
    if (!arguments.picture.empty()) write_file(arguments.picture, as_svg(series, findings));
    const std::string complaint = soak::complaint(findings);
    std::cout << (complaint.empty() ? "all curves are flat\n" : complaint);
    return complaint.empty() ? exit_ok : exit_failure;
}

int run(SoakArguments arguments) {
    if (!arguments.from.empty()) return report(arguments, soak::from_csv(content(arguments.from)));
    if (arguments.run.bootstrap_servers.empty() || arguments.run.csv.empty()) {
        std::cerr << "onceward-lab soak: --bootstrap-server and --csv, or --from\n";
        return exit_usage;
    }
    LogOptions quiet;
    quiet.level = LogLevel::error;
    configure_log(quiet);
    arguments.run.time = std::chrono::minutes(arguments.minutes);
    soak::Series series = facts(arguments);
    const soak::Count count = soak::run(
        arguments.run, series, [](const std::string& line) { std::cerr << line << std::endl; });
    std::cout << soak::to_text(count) << '\n';
    const int status = report(arguments, series);
    return count.good() ? status : exit_failure;
}

}  // namespace

void add_soak(CLI::App& program, Commands& commands) {
    CLI::App& soak = *program.add_subcommand(
        "soak",
        "Run a worker for a long time under a steady load: do memory, files, tables, WAL "
        "and lag stay flat?");
    auto arguments = std::make_shared<SoakArguments>();
    soak.add_option("--bootstrap-server", arguments->run.bootstrap_servers, "A broker of its own");
    soak.add_option("--broker-folder", arguments->run.broker_folder, "Its files, to measure them");
    soak.add_option("--broker-version", arguments->broker_version, "For the page");
    soak.add_option("--commit", arguments->commit, "For the page");
    soak.add_option("--minutes", arguments->minutes, "How long messages are sent")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
    soak.add_option("--rate", arguments->run.rate, "Messages a second")
        ->check(CLI::Range(10, 1'000'000))
        ->capture_default_str();
    soak.add_option("--csv", arguments->run.csv, "Where the samples go; worker.log is next to it");
    soak.add_option("--from", arguments->from, "Run nothing: judge this CSV of a run before");
    soak.add_option("--write", arguments->markdown, "Also write it as docs/soak.md has it");
    soak.add_option("--picture", arguments->picture, "Also draw it to this file, as SVG");
    commands.add(soak, [arguments] { return run(*arguments); });
}

}  // namespace onceward
