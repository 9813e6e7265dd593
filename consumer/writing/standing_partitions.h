#pragma once
// The partitions that are not read, or not any further: paused by an operator, halted, or before
// records that cannot be read. Used by the writer's thread only. Borrows what it is constructed
// with.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "consumer/writing/failure_response.h"

namespace onceward {

class StandingPartitions : private WriterStep {
  public:
    StandingPartitions(const WriterStep& borrowed, FailureResponse& failures)
        : WriterStep(borrowed), failures_(failures) {}

    // Learns that an operator has paused a topic of the group, or resumed it. Between two batches:
    // what is in flight ends; what is queued of a paused partition is discarded and read again from
    // the fence. The partitions stay assigned, so that no rebalance happens. Costs one statement a
    // second at most. Returns whether fences may be taken and batches run: in a new session, not
    // before a check has succeeded, or a privilege for it is missing.
    bool check_pauses();
    // Brings halted partitions back: when their time to be tried again has come, when an operator
    // has moved their fence, or when their sink's target has changed. Costs two statements for each
    // halted topic or partition, every two seconds at most.
    void check_halted();
    // Deals with records that cannot be read: a few tries from the fence, then a halt that waits
    // for the operator. Nothing after such records is taken meanwhile. Does no I/O.
    void check_unreadable();

  private:
    void apply_pauses(const std::map<std::string, std::string>& paused);
    void check_targets(const std::vector<TopicPartition>& halted);
    void check_fence(const TopicPartition& partition);
    void try_again(const TopicPartition& partition);

    FailureResponse& failures_;
    FailureResponse::Clock::time_point next_pauses_{};
    FailureResponse::Clock::time_point next_halted_{};
    std::uint64_t session_number_ = 0;
};

}  // namespace onceward
