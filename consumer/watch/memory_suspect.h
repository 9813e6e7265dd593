#pragma once
// Guesses what a worker was fetching when memory ran short. Pure: the clock is passed in; not
// thread-safe. librdkafka does not say which batch it inflates, so this is a guess. A wrong guess
// halts an innocent partition, visibly, and the next guess is another partition.

#include <chrono>
#include <map>
#include <optional>
#include <span>

#include "dedup/base/types.h"

namespace onceward {

struct FetchSuspect {
    TopicPartition partition;
    std::size_t bytes = 0;                // of its largest recent record; 0: none was large
    std::optional<Offset> record{};       // that record
    std::chrono::milliseconds silent{0};  // since something of it arrived
};

// Whether `left` is the likelier one: a larger record, else the longer silence.
bool likelier(const FetchSuspect& left, const FetchSuspect& right);

class MemorySuspect {
  public:
    using Clock = std::chrono::steady_clock;
    // A record of this size or more counts up to this age; smaller ones do not fill the memory.
    static constexpr std::size_t large = std::size_t{1} << 20;
    static constexpr std::chrono::seconds lately{10};

    explicit MemorySuspect(Clock::time_point now) : begun_(now) {}

    // Something of the partition arrived; `record` is its largest record.
    void came(const TopicPartition& partition, std::size_t bytes, Offset record,
              Clock::time_point now);

    struct Open {
        TopicPartition partition;
        std::optional<Offset> fence;
        bool waits = false;  // the log is known to hold more, or its end is not known
    };
    // Among the partitions that are read: the one with the largest record that has not landed, or
    // else the one that has been silent for longest although it has more to read.
    std::optional<FetchSuspect> suspect(std::span<const Open> open, Clock::time_point now) const;

  private:
    struct Trail {
        Clock::time_point last{};
        std::size_t bytes = 0;
        Offset record;
        Clock::time_point record_at{};
    };
    Clock::time_point begun_;
    std::map<TopicPartition, Trail> trails_;
};

}  // namespace onceward
