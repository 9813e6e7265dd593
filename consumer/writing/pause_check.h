#pragma once
// Learns that an operator has paused a topic of the group, or resumed it. Used by the writer's
// thread only. Borrows what it is constructed with.

#include <map>
#include <string>

#include "consumer/kafka/kafka_source.h"
#include "consumer/writing/failure_response.h"
#include "consumer/writing/writer_session.h"

namespace onceward {

class PauseCheck {
  public:
    PauseCheck(const WorkerOptions& options, Handoff& handoff, KafkaSource& source,
               WriterSession& session, FailureResponse& failures)
        : options_(options),
          handoff_(handoff),
          source_(source),
          session_(session),
          failures_(failures) {}
    // Between two batches: what is in flight ends; what is queued of a paused partition is
    // discarded and read again from the fence. The partitions stay assigned, so that no rebalance
    // happens. Costs one statement a second at most.
    void check();

  private:
    void apply(const std::map<std::string, std::string>& paused);

    const WorkerOptions& options_;
    Handoff& handoff_;
    KafkaSource& source_;
    WriterSession& session_;
    FailureResponse& failures_;
    FailureResponse::Clock::time_point next_{};
    std::uint64_t session_number_ = 0;
};

}  // namespace onceward
