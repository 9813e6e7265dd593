#pragma once
// What a worker has done so far, as numbers that only grow. Plain values.

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "dedup/message/message.h"

namespace onceward {

// How long the transactions took: how many up to each bound, and their sum.
struct DurationHistogram {
    static constexpr std::array<double, 14> bounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                   0.25,  0.5,    1.0,   2.5,  5.0,   10.0, 60.0};
    std::array<std::int64_t, bounds.size() + 1> counts{};  // the last one: longer than all bounds
    double sum = 0;                                        // seconds
    void observe(double seconds);
    DurationHistogram& operator+=(const DurationHistogram& other);
};

// For a topic with a `lease` ledger.
struct LeaseCounts {
    std::int64_t taken_over = 0;   // keys, from owners whose lease ended without a result
    std::int64_t lost = 0;         // keys that another worker took over
    std::int64_t tried_again = 0;  // tries that did not get through
    LeaseCounts& operator+=(const LeaseCounts& other);
};

struct WorkerCounts {
    std::map<std::string, Totals> topics;  // I16: each message in exactly one of them
    std::map<std::string, LeaseCounts> leases;
    std::int64_t below_fence = 0;       // messages that came again and were thrown away
    std::int64_t batches = 0;           // transactions that were committed
    std::int64_t retries = 0;           // of work that PostgreSQL refused for a passing reason
    std::int64_t reconnects = 0;        // sessions with PostgreSQL after the first one
    std::int64_t offsets_skipped = 0;   // passed without being read, by on_out_of_range
    std::int64_t commits_in_doubt = 0;  // a COMMIT was sent and its answer never came
    std::int64_t rejoins = 0;           // of the group, as partitions had no owner
    DurationHistogram durations;
    Totals totals() const;
    WorkerCounts& operator+=(const WorkerCounts& other);
};

}  // namespace onceward
