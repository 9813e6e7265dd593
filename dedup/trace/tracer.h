#pragma once
// Decides which traces are recorded, and keeps ended spans until an exporter takes them.
// Thread-safe; owns the spans. Recording never waits for the exporter, and its memory is bounded:
// if the queue is full the span is dropped and counted. Throws only std::bad_alloc.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <optional>
#include <stop_token>
#include <vector>

#include "dedup/base/mutex.h"
#include "dedup/trace/span.h"

namespace onceward {

struct TracerOptions {
    // Which share of the traces that begin here is recorded. A trace that began elsewhere is
    // recorded if its context says so.
    double ratio = 0.01;
    // Ended spans that wait for the exporter; about a kilobyte each.
    std::size_t queue = 8192;
};

// What became of the spans so far. A plain value.
struct TraceCounts {
    std::int64_t exported = 0;
    std::int64_t dropped = 0;  // the queue was full
    std::int64_t failed = 0;   // the receiver did not take them
    std::int64_t waiting = 0;
};

class Tracer {
  public:
    explicit Tracer(TracerOptions options);

    // The context of a new trace; nullopt if it is not among those that are recorded.
    std::optional<TraceContext> root() const;
    // Whether the ratio selects the trace: all processes with the same ratio decide alike.
    bool takes(const TraceId& trace) const;
    std::size_t most_spans() const { return options_.queue; }
    // REQUIRES: the span's context is sampled. Sets the time of its end unless it has one.
    void end(TraceSpan span);
    void end(std::vector<TraceSpan> spans);

    // For the exporter. Waits until there are `enough` spans, `most` has passed, or a stop is
    // requested; returns up to `enough`.
    std::vector<TraceSpan> take(std::size_t enough, std::chrono::milliseconds most,
                                const std::stop_token& stop);
    void exported(std::size_t spans);
    void failed(std::size_t spans);
    TraceCounts counts() const;

  private:
    void add(TraceSpan span) ONCEWARD_REQUIRES(mutex_);

    const TracerOptions options_;
    const std::uint64_t first_taken_;  // of the 56 bits at the id's end
    mutable Mutex mutex_;
    std::condition_variable_any wake_;
    std::size_t enough_ ONCEWARD_GUARDED_BY(mutex_) = 1;  // what the exporter waits for
    std::deque<TraceSpan> queue_ ONCEWARD_GUARDED_BY(mutex_);
    TraceCounts counts_ ONCEWARD_GUARDED_BY(mutex_);
};

// The span of an operation below `parent`, which begins now.
TraceSpan begin_span(std::string name, SpanKind kind, const TraceContext& parent);

}  // namespace onceward
