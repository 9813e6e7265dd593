#pragma once
// How old messages are when the COMMIT that covers them is answered: the time from the record's
// timestamp, which its producer or its broker set, to the answer, by this machine's clock. Pure;
// the caller passes the time.

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

#include "dedup/base/duration_histogram.h"

namespace onceward {

// From the best latency of a worker to that after it stood still for a day.
struct LatencyBounds {
    static constexpr std::array<double, 17> seconds{0.005, 0.01, 0.025, 0.05, 0.1,    0.25,
                                                    0.5,   1.0,  2.5,   5.0,  10.0,   30.0,
                                                    60.0,  300., 900.,  3600., 86400.};
};
using LatencyHistogram = DurationHistogram<LatencyBounds>;

// Adds the messages of one transaction. Neighbours with the same timestamp are observed together;
// under load they make up a batch.
class MessageLatencies {
  public:
    // `now`: since 1970-01-01 UTC.
    MessageLatencies(LatencyHistogram& into, std::chrono::milliseconds now)
        : into_(into), now_(now) {}

    // A record without a timestamp is left out. One in the future counts as 0: clocks differ.
    void add(const std::optional<std::chrono::milliseconds>& timestamp) {
        if (!timestamp) return;
        if (*timestamp != last_) flush();
        last_ = *timestamp;
        ++times_;
    }
    // Called after the last message.
    void flush() {
        if (times_ == 0) return;
        const std::chrono::duration<double> age = now_ - last_;
        into_.observe(std::max(age.count(), 0.0), times_);
        times_ = 0;
    }

  private:
    LatencyHistogram& into_;
    std::chrono::milliseconds now_;
    std::chrono::milliseconds last_{0};
    std::int64_t times_ = 0;
};

// The ages of these messages at `now`. `timestamp_of` returns the timestamp of one of them.
template <class Messages, class TimestampOf>
LatencyHistogram ages_of(const Messages& messages, std::chrono::milliseconds now,
                         const TimestampOf& timestamp_of) {
    LatencyHistogram ages;
    MessageLatencies latencies(ages, now);
    for (const auto& message : messages) latencies.add(timestamp_of(message));
    latencies.flush();
    return ages;
}

}  // namespace onceward
