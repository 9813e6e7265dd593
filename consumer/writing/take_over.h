#pragma once
// Takes the fence of a partition before any message of it is read, and says where reading begins.
// Used by the writer's thread only. Borrows what it is constructed with.

#include <optional>

#include "consumer/partitions/first_position.h"
#include "consumer/writing/failure_response.h"

namespace onceward {

class TakeOver : private WriterStep {
  public:
    TakeOver(const WriterStep& borrowed, TopicSetup& setup, FailureResponse& failures)
        : WriterStep(borrowed), setup_(setup), failures_(failures) {}

    // Takes the fence, or lets the partition wait or halt. Failures are dealt with here.
    // REQUIRES: the session is connected.
    void run(const TopicPartition& partition);
    // The topic has `now` partitions.
    void check_partitions(WriterTopic& topic, int now);
    // The topic's name means another log now.
    void other_log(WriterTopic& topic, const LogIdentity& now);

  private:
    // Makes what the partition's take-over needs: the topic's setup, and the fence's row.
    void make_fence_row(WriterTopic& topic, const TopicPartition& partition);
    void take(WriterTopic& topic, const TopicPartition& partition);
    void create_fences(WriterTopic& topic, const TopicPartition& wanted);
    FenceState take_fence(WriterTopic& topic, const TopicPartition& partition);
    void ask_identity(WriterTopic& topic);
    void require_fixed_partitions(WriterTopic& topic);
    LogQuestions questions(const TopicPartition& partition);
    // This worker did not get the fence: it is retired or of another log, or the partition was
    // revoked.
    void settle_refusal(WriterTopic& topic, const TopicPartition& partition,
                        const FenceState& fence);
    // Where to continue if the log does not hold the fence's offset; nullopt if the partition was
    // halted. Nothing is skipped without a row in skipped_ranges, in the transaction that moves the
    // fence.
    std::optional<Offset> beyond_the_gap(WriterTopic& topic, const TopicPartition& partition,
                                         const FenceState& fence);
    void stop_for_other_log(WriterTopic& topic, const LogIdentity& before);

    TopicSetup& setup_;
    FailureResponse& failures_;
};

}  // namespace onceward
