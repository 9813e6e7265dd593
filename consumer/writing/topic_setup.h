#pragma once
// Makes what a topic's batches need in a session: its ledger's registration, the prepared sink, the
// stores of claims and results, and the processor. Used by the writer's thread only. Borrows what
// it is constructed with; owns the dead letters' sink.

#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "consumer/writing/writer_session.h"

namespace onceward {

class TopicSetup : private WriterStep {
  public:
    // Called after a COMMIT of the topic was answered, with the moves of its fences.
    using Landed = std::function<void(WriterTopic&, std::span<const FenceMove>)>;

    TopicSetup(const WriterStep& borrowed, Landed landed)
        : WriterStep(borrowed),
          landed_(std::move(landed)),
          dead_letters_(options_.dead_letters()) {}

    // Does nothing if the topic is ready. Throws a PostgresError, SinkMismatch if the sink does not
    // fit its target, or std::invalid_argument if sink and ledger do not fit each other.
    // REQUIRES: the session is connected.
    void prepare(WriterTopic& topic);

  private:
    void make_answers(WriterTopic& topic) const;
    std::unique_ptr<BatchProcessor> make_processor(WriterTopic& topic);
    std::unique_ptr<BatchProcessor> make_lease_processor(WriterTopic& topic);

    Landed landed_;
    std::unique_ptr<Sink> dead_letters_;
};

}  // namespace onceward
