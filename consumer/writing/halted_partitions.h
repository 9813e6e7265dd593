#pragma once
// Brings halted partitions back: when their time to be tried again has come, when an operator has
// moved their fence, or when their sink's target has changed. Used by the writer's thread only.
// Borrows what it is constructed with.

#include <vector>

#include "consumer/writing/failure_response.h"
#include "consumer/writing/writer_session.h"

namespace onceward {

class HaltedPartitions {
  public:
    HaltedPartitions(Handoff& handoff, WriterSession& session, FailureResponse& failures)
        : handoff_(handoff), session_(session), failures_(failures) {}
    // Costs two statements for each halted topic or partition, every two seconds at most.
    void check();

  private:
    void wake_due();
    void check_targets(const std::vector<TopicPartition>& halted);
    void check_fence(const TopicPartition& partition);

    Handoff& handoff_;
    WriterSession& session_;
    FailureResponse& failures_;
    FailureResponse::Clock::time_point next_{};
};

}  // namespace onceward
