#include "tests/faults/campaign/operator.h"

#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <mutex>

#include "lab/embedded/child_process.h"
#include "tests/faults/campaign/request_log.h"
#include "tests/support/eventually.h"

namespace onceward::campaign {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds command_limit{30'000};

}  // namespace

Operator operator_of(const Names& names) {
    return {names.folder / "operator.yaml", names.folder / "operator.log",
            names.folder / operators_file};
}

int Operator::run(const std::vector<std::string>& words,
                  std::optional<milliseconds> killed_after) const {
    ChildOptions options;
    options.command = {ONCEWARD_EXECUTABLE};
    options.command.insert(options.command.end(), words.begin(), words.end());
    options.command.insert(options.command.end(), {"-c", configuration.string()});
    options.output = log;
    ChildProcess program(options);
    std::optional<int> status = program.wait(killed_after.value_or(command_limit));
    if (!status) {
        program.send(SIGKILL);
        program.wait(command_limit);
        return -1;
    }
    return WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
}

bool Operator::until(const std::vector<std::string>& words,
                     std::initializer_list<int> ends) const {
    return support::eventually(
        operator_patience, [&] { return std::ranges::find(ends, run(words)) != ends.end(); });
}

void Operator::note(const std::string& what, const std::string& topic, const std::string& key,
                    std::int64_t from_us) const {
    static std::mutex writing;
    const std::lock_guard lock(writing);
    // Names and keys are plain ASCII.
    std::ofstream(notes, std::ios::app)
        << R"({"do":")" << what << R"(","t":")" << topic << R"(","k":")" << key
        << R"(","from":)" << from_us << ",\"to\":" << microseconds_now() << "}\n";
}

}  // namespace onceward::campaign
