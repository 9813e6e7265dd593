#pragma once
// The demo's worker processes: starts them, kills them, freezes and wakes them, and notices one
// that ends by itself. Used by the thread that made it, which must live as long as the workers
// shall: they end with it. A worker that ends unasked, and one that cannot be started or frozen, is
// a std::runtime_error with its log's end.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lab/embedded/child_process.h"

namespace onceward::demo {

struct FleetOptions {
    // What a worker runs, such as {`onceward`, `run`, `-c`, file}.
    std::vector<std::string> command;
    std::filesystem::path folder;  // of the workers' logs
    int workers = 3;
};

class Fleet {
  public:
    using Clock = std::chrono::steady_clock;

    explicit Fleet(FleetOptions options);

    int size() const { return options_.workers; }
    pid_t pid(int worker) const { return workers_.at(index(worker)).process->pid(); }
    // How long the worker has run since it was started last.
    std::chrono::milliseconds age(int worker) const;
    // The log of the worker's current process.
    std::filesystem::path log(int worker) const;

    // SIGKILL; returns when the process is gone and a new one is started in its place.
    void kill(int worker);
    // SIGSTOP; returns when the process has stopped. wake_due() wakes it after `duration`.
    void freeze(int worker, std::chrono::milliseconds duration);
    // Wakes those whose time has come; answers with their numbers.
    std::vector<int> wake_due();
    bool any_frozen() const;
    // Throws where a worker has ended unasked.
    void check();
    // Wakes all, sends SIGTERM to all and waits. Throws where one does not leave in order.
    void stop();

    int killed() const { return killed_; }
    int frozen() const { return frozen_; }

  private:
    struct Worker {
        std::optional<ChildProcess> process;
        Clock::time_point started;
        std::optional<Clock::time_point> wake_at;
        int incarnation = 0;
    };
    static std::size_t index(int worker) { return static_cast<std::size_t>(worker); }
    void start(int worker);
    [[noreturn]] void fail(int worker, const std::string& what) const;

    FleetOptions options_;
    std::vector<Worker> workers_;
    int killed_ = 0;
    int frozen_ = 0;
};

}  // namespace onceward::demo
