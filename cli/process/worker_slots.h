#pragma once
// The workers of one process: makes them, recreates one whose consumer failed for good, replaces
// some by new ones, drains them. start(), tend(), renew(), renewing() and drain() are for one
// thread; the rest is thread-safe, since the admin port reads at the same time.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "cli/admin/process_status.h"
#include "cli/process/slot_worker.h"
#include "dedup/base/mutex.h"

namespace onceward {

// How long after its n-th failure in a row a worker is recreated: 2 s, doubled, at most a minute.
std::chrono::milliseconds restart_pause(int failures);

class WorkerSlots {
  public:
    using Clock = std::chrono::steady_clock;
    // A worker that has not started. Throws if it cannot be made.
    using Make = std::function<std::unique_ptr<SlotWorker>(std::size_t number)>;
    // A worker for each of `databases`: the name of the server that it is on.
    WorkerSlots(std::string group, std::vector<std::string> databases, Make make);
    void start();
    ~WorkerSlots();
    // To be called again and again.
    void tend(Clock::time_point now = Clock::now());
    // These end as for a shutdown, each on its own, and tend() starts a new one in place of each.
    // The new one takes its fences again and knows nothing of what the old one knew. `make` makes
    // the new ones before anything ends: if one cannot be made, it throws and nothing has changed.
    // REQUIRES: not renewing().
    void renew(const std::vector<std::size_t>& numbers, const Make& make);
    // True until all the new ones have started.
    bool renewing() const;
    // All at once: each waits for its own batch in flight. Nothing starts after it.
    void drain();
    ProcessStatus status() const;
    // What the workers were most likely fetching, now that memory ran short.
    std::optional<FetchSuspect> suspect() const;

  private:
    struct Slot {
        std::string database;
        std::unique_ptr<SlotWorker> worker;
        std::string ended;
    };
    // Ends a worker whose place another one takes, once end() is called. The destructor waits for
    // that end.
    class Ending {
      public:
        explicit Ending(SlotWorker& worker) : thread_([this, &worker] { run(worker); }) {}
        ~Ending();
        void end();
        bool ended() const { return ended_; }

      private:
        enum class Order : std::uint8_t { none, end, leave };
        void run(SlotWorker& worker);
        std::atomic<Order> order_ = Order::none;
        std::atomic<bool> ended_ = false;
        std::jthread thread_;  // the last one: it uses the others
    };
    // What the thread that calls tend() knows of a slot's worker.
    struct Attempts {
        std::unique_ptr<Ending> ending{};    // null: it does not end
        std::unique_ptr<SlotWorker> next{};  // takes its place
        bool renewing = false;               // until a new one has started
        Clock::time_point begun{};
        Clock::time_point restart{};
        int failures = 0;  // in a row
    };
    void begin(std::size_t number, Clock::time_point now);
    void fail(std::size_t number, const std::string& why, Clock::time_point now);
    // The worker has ended; its counts stay.
    void remove(std::size_t number, const std::string& why);
    SlotWorker* worker(std::size_t number) const;

    Make make_;
    std::vector<Attempts> attempts_;  // used only by that thread
    mutable Mutex mutex_;
    std::vector<Slot> slots_ ONCEWARD_GUARDED_BY(mutex_);
    ProcessStatus common_ ONCEWARD_GUARDED_BY(mutex_);  // without the workers
};

}  // namespace onceward
