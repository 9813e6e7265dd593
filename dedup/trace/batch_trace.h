#pragma once
// The spans of a worker's batches: one for each batch that is recorded, with a child for each
// COMMIT, and one for each of its messages whose trace is recorded. One object for each worker and
// topic, used by the writer's thread. Borrows the tracer, which outlives it, and the batch's
// messages until end(). Without a tracer, and in a batch of which nothing is recorded, each call
// costs one comparison. Throws only std::bad_alloc.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "dedup/base/step_observer.h"
#include "dedup/message/batch.h"
#include "dedup/trace/tracer.h"

namespace onceward {

class BatchTrace {
  public:
    // `tracer`: null if traces are off.
    BatchTrace(Tracer* tracer, std::string group, std::string topic)
        : tracer_(tracer), group_(std::move(group)), topic_(std::move(topic)) {}

    // Points Message::trace of each recorded message at the context of its span. The batch stays
    // where it is until end().
    void begin(Batch& batch) {
        if (tracer_ != nullptr) begin_recorded(batch);
    }
    void reached(Step step) {
        if (recording_) note(step);
    }
    // PostgreSQL refused a transaction of the batch; `type`: its SQLSTATE.
    void failed(std::string_view type) {
        if (recording_) note_failure(type);
    }
    // Whether messages of the batch have spans that have not ended.
    bool has_messages() const { return open_messages_ > 0; }
    // The message is committed with that outcome.
    void ended(const Message& message, std::string_view outcome);
    // The batch is done or given up. A message that did not end gets a span only after a failure;
    // otherwise its next owner records it.
    void end() {
        if (recording_) end_recorded();
    }

  private:
    struct Recorded {
        const Message* message = nullptr;
        TraceContext context;
        std::optional<TraceContext> parent;  // nullopt: its trace begins here
        bool over = false;
    };
    void begin_recorded(Batch& batch);
    // What the spans of a batch and of its messages have in common.
    void add_topic(TraceSpan& span) const;
    void add(Message& message, const std::optional<TraceContext>& parent,
             const TraceContext& context);
    void note(Step step);
    void note_failure(std::string_view type);
    void add_event(std::string_view name, Attributes attributes = {});
    void record_commit();
    void record(Recorded& recorded, std::string_view outcome, bool failed);
    void end_recorded();

    Tracer* const tracer_;
    const std::string group_;
    const std::string topic_;
    bool recording_ = false;
    std::size_t open_messages_ = 0;
    TraceSpan batch_;
    std::deque<Recorded> messages_;  // in the batch's order; its items stay where they are
    std::size_t next_ = 0;           // in messages_: where the next one to end probably is
    SpanTime commit_begun_{};
    std::size_t events_at_begin_ = 0;  // of batch_, when its last transaction had begun
    int commits_ = 0;
    std::string failure_;  // the type of the last failure
    std::vector<TraceSpan> ended_;
};

}  // namespace onceward
