// `onceward-lab demo`: a mock Kafka in this process, a private PostgreSQL and three workers, the
// workers killed and frozen, and a count of what became of every message.

#include <unistd.h>

#include <cstdio>
#include <memory>

#include "cli/terminal/command.h"
#include "cli/terminal/stop_request.h"
#include "lab/commands/commands.h"
#include "lab/demo/run.h"
#include "lab/demo/stage.h"
#include "lab/embedded/product_program.h"

namespace onceward {
namespace {

struct DemoArguments {
    demo::RunOptions run;
    bool no_faults = false;
    bool json = false;
    bool keep = false;
};

void explain_failure(const demo::Stage& stage, const demo::Verdict& verdict) {
    std::fputs("The demo failed: not every message took effect exactly once.\n", stderr);
    if (verdict.unknown > 0)
        std::fprintf(stderr, "%lld rows have keys that were never produced.\n",
                     static_cast<long long>(verdict.unknown));
    const std::string rejected = demo::dead_letters(stage);
    if (!rejected.empty()) std::fprintf(stderr, "%s\n", rejected.c_str());
}

void keep_up(const demo::Stage& stage, const std::string& program) {
    const std::string file = stage.configuration().string();
    std::fprintf(stderr,
                 "\nThe mock Kafka and the database stay up until Ctrl-C:\n"
                 "  psql \"%s\"\n"
                 "    SELECT * FROM payments LIMIT 5;\n"
                 "    SELECT topic, partition, next_offset, applied, duplicates FROM "
                 "onceward.fences;\n"
                 "  Kafka at %s, topics payments and orders\n"
                 "  %s explain KEY --topic payments -c %s\n"
                 "  %s run -c %s\n",
                 stage.dsn().c_str(), stage.bootstrap_servers().c_str(), program.c_str(),
                 file.c_str(), program.c_str(), file.c_str());
    while (!stop_requested()) sleep(1);
}

int run(const DemoArguments& arguments) {
    const StopRequest stop;
    try {
        demo::RunOptions options = arguments.run;
        options.faults = !arguments.no_faults;
        options.program = product_program();
        std::fputs("Starting a private PostgreSQL and a mock Kafka in this process ...\n", stderr);
        const demo::Stage stage(options.program);
        demo::Progress progress(options.messages, isatty(STDERR_FILENO) != 0);
        const demo::QueryResult result = demo::run(stage, options, progress);
        std::fputs((arguments.json ? to_json(result) : to_table(result)).c_str(), stdout);
        std::fflush(stdout);
        if (!result.verdict.good()) explain_failure(stage, result.verdict);
        if (arguments.keep) keep_up(stage, options.program.string());
        return result.verdict.good() ? exit_ok : exit_failure;
    } catch (const std::exception& error) {
        // Ctrl-C at a terminal reaches the database and the workers as well: their ends are no
        // failure then.
        if (stop_requested()) return exit_interrupted;
        std::fprintf(stderr, "\nonceward-lab demo: %s\n", error.what());
        return exit_failure;
    }
}

}  // namespace

void add_demo(CLI::App& program, Commands& commands) {
    auto arguments = std::make_shared<DemoArguments>();
    CLI::App& command = *program.add_subcommand(
        "demo",
        "Kill and freeze workers on a mock Kafka and a private PostgreSQL, and count what is "
        "lost");
    command.add_option("--messages", arguments->run.messages, "Messages to produce")
        ->check(CLI::Range(std::int64_t{100}, std::int64_t{100'000'000}))
        ->capture_default_str();
    command
        .add_option("--seed", arguments->run.seed, "The same seed gives the same keys and faults")
        ->capture_default_str();
    command.add_option("--workers", arguments->run.workers, "Worker processes")
        ->check(CLI::Range(1, 16))
        ->capture_default_str();
    command.add_flag("--no-faults", arguments->no_faults, "Leave the workers alone");
    command.add_flag("--json", arguments->json, "Print the result as one JSON object");
    command.add_flag("--keep", arguments->keep,
                     "Leave broker and database up until Ctrl-C, and print how to look at them");
    commands.add(command, [arguments] { return run(*arguments); });
}

}  // namespace onceward
