#pragma once
// Which worker has which partition: what a group's coordinator is to real workers. Tells everybody
// who waits. Thread-safe.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <vector>

namespace onceward::campaign::core {

class Board {
  public:
    // `unowned`: a partition that nobody gets before assign_all(); -1: none.
    Board(int partitions, int workers, int unowned);

    struct Assignment {
        std::set<int> partitions;
        std::uint64_t version = 0;  // grows with every change of anything
    };
    Assignment of(int worker) const;
    void move(int partition, int worker);
    // To the others, in turn; to itself where it is alone.
    void move_all(int worker);
    // Deals all partitions again, one worker further than before.
    void rebalance();
    void assign_all();
    // There is something to read again: who had drained has to look once more.
    void changed();

    // A worker has read its partitions to their end, as of that version.
    void drained(int worker, std::uint64_t version);
    bool all_drained() const;
    // Waits until everybody drained.
    bool wait_drained(std::chrono::milliseconds limit);

    // A worker took a fence. overtaken(): whether another one did since `moment`.
    void took_fence(int worker);
    std::uint64_t takes_of_others(int worker) const;
    // Until another worker takes a fence, or the faults end.
    bool wait_overtaken(int worker, std::uint64_t since, std::chrono::milliseconds limit);

    // From now on nothing is broken any more.
    void be_quiet();
    bool quiet() const;
    void stop();
    bool stopping() const;
    // Until something changes, or the pause is over.
    void rest(std::uint64_t version, std::chrono::milliseconds pause);

  private:
    bool drained_locked() const;
    void deal();
    mutable std::mutex mutex_;
    std::condition_variable told_;
    std::vector<int> owners_;  // of each partition; -1: nobody
    std::vector<std::uint64_t> drained_;
    std::vector<std::uint64_t> takes_;
    std::uint64_t version_ = 1;
    int workers_;
    int unowned_;
    int turn_ = 0;
    bool quiet_ = false;
    bool stopping_ = false;
};

}  // namespace onceward::campaign::core
