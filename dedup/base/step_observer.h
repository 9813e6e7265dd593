#pragma once
// The steps that a message passes, for observers that stop the worker at one of them, as the crash
// suite does. Called from the threads of workers and relays; an observer is thread-safe and
// outlives them. A null observer costs one comparison.

#include <cstdint>

namespace onceward {

enum class Step : std::uint8_t {
    before_begin,
    after_fence,
    after_claims,
    after_sink,
    before_commit,  // all is written, COMMIT is not sent
    // All of a consumer's transaction, COMMIT too, was sent in one round trip. The steps from
    // after_fence to before_commit are told just before; the server may have passed them already.
    sent_whole,
    after_commit,   // COMMIT was answered, Kafka knows nothing of it
    after_offset,   // the offset commit was handed to librdkafka
    in_rebalance,   // partitions were assigned or revoked, and the callback has not returned
    before_take_over,
    after_take_over,
    before_outbox_delete,  // Kafka has records of the outbox, and their rows are still there
};

class StepObserver {
  public:
    virtual ~StepObserver() = default;
    virtual void reached(Step step) = 0;
};

inline void reached(StepObserver* observer, Step step) {
    if (observer != nullptr) observer->reached(step);
}

}  // namespace onceward
