#pragma once
// The worker processes of a seed, each in a slot with a configuration of its own: started, killed,
// frozen, stopped, and looked after. One that ends without having been asked to is a violation.
// Used by one thread, with which the workers end.

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "lab/embedded/child_process.h"
#include "tests/faults/campaign/names.h"
#include "tests/faults/campaign/plan.h"
#include "tests/faults/campaign/tally.h"
#include "tests/faults/campaign/worker_configuration.h"

namespace onceward::campaign {

class Fleet {
  public:
    using Clock = std::chrono::steady_clock;

    Fleet(const Plan& plan, const Names& names, const Addresses& addresses, Tally& tally);
    // Told the process id of each worker that starts.
    void on_start(std::function<void(pid_t)> told) { told_ = std::move(told); }

    // A worker of the release program, now or in a while.
    void start(int slot);
    // One more, in a slot that has nobody; false where somebody is there.
    bool join(int slot);
    void start_later(int slot, milliseconds delay);
    // One with a fault point, in a while.
    void start_faulty_later(int slot, const FaultPlan& fault, milliseconds delay);
    // A slot that has a running worker nothing is done to; -1 where there is none.
    int free_slot(std::uint32_t target) const;
    bool is_free(int slot) const;
    // REQUIRES: the worker in that slot runs.
    pid_t process(int slot) const { return workers_.at(slot).process->pid(); }
    // A restart of the broker or of PostgreSQL takes no longer.
    static constexpr milliseconds longest_restart{8'000};
    // The broker or PostgreSQL has been away for longer than that: a worker that leaves
    // now may say that its drain is overdue, and end with 1.
    void server_is_long_away();
    int running() const;

    // Each answers whether it took effect.
    bool kill_now(int slot);
    bool freeze(int slot, milliseconds lasts);
    // SIGTERM; `again`: another one follows when it has left.
    bool terminate(int slot, FaultKind counted_as, bool again);

    // Notices ended processes; thaws and starts those that are due.
    void look();
    // Every planned slot has a worker of the release program that nothing is done to, and that
    // runs.
    bool settle(milliseconds limit);
    // SIGTERM to all; each must leave with 0.
    void stop(milliseconds limit);

  private:
    struct Worker {
        std::optional<ChildProcess> process;
        std::optional<FaultPlan> fault;  // at a step, not reached yet
        std::optional<Clock::time_point> thaw;
        std::optional<Clock::time_point> left_since;
        std::optional<Clock::time_point> start;
        std::optional<FaultPlan> next_fault;  // of the next start
        FaultKind counted_as = FaultKind::terminate;
        bool again = false;
        bool without_server = false;  // it leaves, and one of the two has been away for long
        std::uintmax_t logged = 0;    // bytes of its log from before it started
    };

    void launch(int slot, Worker& worker);
    void look_at(int slot, Worker& worker);
    void ended(int slot, Worker& worker, int status);
    void left(int slot, Worker& worker, int status);
    bool runs(int slot, const Worker& worker) const;
    static bool excused(const Worker& worker, int status);
    static bool died_at_its_step(const Worker& worker, int status);
    std::filesystem::path log(int slot) const;

    const Plan& plan_;
    const Names& names_;
    Addresses addresses_;
    Tally& tally_;
    std::function<void(pid_t)> told_;
    std::map<int, Worker> workers_;
};

}  // namespace onceward::campaign
