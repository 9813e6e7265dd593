#pragma once
// Deals with records that cannot be read: a few tries from the fence, then a halt that waits for
// the operator. Nothing after such records is taken meanwhile. Used by the writer's thread only.
// Borrows what it is constructed with.

#include "consumer/writing/failure_response.h"

namespace onceward {

class UnreadablePartitions {
  public:
    UnreadablePartitions(Handoff& handoff, WorkerActivity& activity, FailureResponse& failures)
        : handoff_(handoff), activity_(activity), failures_(failures) {}
    // Does no I/O.
    void check();

  private:
    void try_again(const TopicPartition& partition);

    Handoff& handoff_;
    WorkerActivity& activity_;
    FailureResponse& failures_;
};

}  // namespace onceward
