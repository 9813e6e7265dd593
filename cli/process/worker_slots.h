#pragma once
// The workers of one process: makes them, recreates one whose consumer failed for good, replaces
// some by new ones, drains them. start(), tend(), renew(), renewing() and drain() are for one
// thread; the rest is thread-safe, since the admin port reads meanwhile.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "cli/admin/process_status.h"
#include "dedup/base/mutex.h"

namespace onceward {

// How long after its n-th failure in a row a worker is recreated: 2 s, doubled, at most a minute.
std::chrono::milliseconds restart_pause(int failures);

class WorkerSlots {
  public:
    using Make = std::function<std::unique_ptr<Worker>(int number)>;
    // A worker for each of `databases`: the name of the server that it is on.
    WorkerSlots(std::string group, std::vector<std::string> databases, Make make);
    void start();
    ~WorkerSlots();
    // To be called again and again.
    void tend();
    // These end as for a shutdown, each on its own, and tend() makes a new one in place of each:
    // which takes its fences again and knows nothing of what the old one knew. REQUIRES: none of
    // them is renewing.
    void renew(const std::vector<std::size_t>& numbers);
    bool renewing() const;
    // All at once: each waits for its own batch in flight.
    void drain();
    ProcessStatus status() const;
    // What the workers were most likely fetching, now that memory ran short.
    std::optional<FetchSuspect> suspect() const;

  private:
    using Clock = std::chrono::steady_clock;
    struct Slot {
        std::string database;
        std::unique_ptr<Worker> worker;
        std::string ended;
    };
    // A worker that ends because another one takes its place.
    struct Ending {
        explicit Ending(Worker& worker) : thread([this, &worker] { end(worker); }) {}
        void end(Worker& worker) {
            worker.stop();
            ended = true;
        }
        std::atomic<bool> ended = false;
        std::jthread thread;  // the last one: it uses the other
    };
    // What the thread that calls tend() knows of a slot's worker.
    struct Attempts {
        std::unique_ptr<Ending> ending{};  // null: it does not end
        Clock::time_point begun{};
        Clock::time_point restart{};
        int failures = 0;  // in a row
    };
    void begin(std::size_t number);
    void fail(std::size_t number, const std::string& why);
    // It has ended; its counts stay.
    void remove(std::size_t number, const std::string& why);
    Worker* worker(std::size_t number) const;

    Make make_;
    std::vector<Attempts> attempts_;  // used only by that thread
    mutable Mutex mutex_;
    std::vector<Slot> slots_ ONCEWARD_GUARDED_BY(mutex_);
    ProcessStatus common_ ONCEWARD_GUARDED_BY(mutex_);  // without the workers
};

}  // namespace onceward
