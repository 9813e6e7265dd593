#include "lab/demo/fleet.h"

#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace onceward::demo {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds signal_limit{10'000};
constexpr milliseconds stop_limit{30'000};
constexpr milliseconds look_again{5};

// The process's state as the kernel names it: T is stopped by a signal.
char state_of(pid_t process) {
    std::ifstream stream("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    std::getline(stream, text);
    const std::size_t end = text.rfind(") ");
    return end == std::string::npos || text.size() < end + 3 ? '?' : text[end + 2];
}

std::string describe(int status) {
    if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
    return "exit status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Fleet::Fleet(FleetOptions options) : options_(std::move(options)) {
    workers_.resize(index(options_.workers));
    for (int worker = 0; worker < size(); ++worker) start(worker);
}

void Fleet::start(int worker) {
    Worker& entry = workers_.at(index(worker));
    ++entry.incarnation;
    ChildOptions child;
    child.command = options_.command;
    child.output = log(worker);
    entry.process.emplace(child);
    entry.started = Clock::now();
    entry.wake_at.reset();
}

milliseconds Fleet::age(int worker) const {
    return std::chrono::duration_cast<milliseconds>(Clock::now() -
                                                    workers_.at(index(worker)).started);
}

std::filesystem::path Fleet::log(int worker) const {
    return options_.folder / ("worker-" + std::to_string(worker + 1) + "." +
                              std::to_string(workers_.at(index(worker)).incarnation) + ".log");
}

void Fleet::fail(int worker, const std::string& what) const {
    throw std::runtime_error("worker " + std::to_string(worker + 1) + " " + what +
                             "; the end of its log:\n" + tail_of(log(worker)));
}

void Fleet::kill(int worker) {
    ChildProcess& process = *workers_.at(index(worker)).process;
    process.send(SIGKILL);
    const std::optional<int> status = process.wait(signal_limit);
    if (!status) fail(worker, "did not end after SIGKILL");
    // It may have ended by itself a moment before.
    if (!WIFSIGNALED(*status) || WTERMSIG(*status) != SIGKILL)
        fail(worker, "ended by itself with " + describe(*status));
    ++killed_;
    start(worker);
}

void Fleet::freeze(int worker, milliseconds duration) {
    Worker& entry = workers_.at(index(worker));
    entry.process->send(SIGSTOP);
    const auto deadline = Clock::now() + signal_limit;
    while (state_of(entry.process->pid()) != 'T') {
        check();
        if (Clock::now() > deadline) fail(worker, "did not stop after SIGSTOP");
        std::this_thread::sleep_for(look_again);
    }
    ++frozen_;
    entry.wake_at = Clock::now() + duration;
}

std::vector<int> Fleet::wake_due() {
    std::vector<int> woken;
    for (int worker = 0; worker < size(); ++worker) {
        Worker& entry = workers_.at(index(worker));
        if (!entry.wake_at || Clock::now() < *entry.wake_at) continue;
        entry.process->send(SIGCONT);
        entry.wake_at.reset();
        woken.push_back(worker);
    }
    return woken;
}

bool Fleet::any_frozen() const {
    for (const Worker& entry : workers_) {
        if (entry.wake_at) return true;
    }
    return false;
}

void Fleet::check() {
    for (int worker = 0; worker < size(); ++worker) {
        const std::optional<int> status = workers_.at(index(worker)).process->wait(milliseconds{0});
        if (status) fail(worker, "ended by itself with " + describe(*status));
    }
}

void Fleet::stop() {
    check();
    for (Worker& entry : workers_) {
        entry.process->send(SIGCONT);
        entry.process->send(SIGTERM);
    }
    for (int worker = 0; worker < size(); ++worker) {
        const std::optional<int> status = workers_.at(index(worker)).process->wait(stop_limit);
        if (!status) fail(worker, "did not leave after SIGTERM");
        if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0)
            fail(worker, "left after SIGTERM with " + describe(*status));
    }
}

}  // namespace onceward::demo
