#pragma once
// What a worker knows of each partition that the group gave it, and what is to be done next. Each
// method is an event: partition_phase.h says which phase follows. Pure: no I/O, the clock is passed
// in. Not thread-safe; Handoff guards it.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "consumer/partitions/partition_phase.h"
#include "dedup/base/backoff.h"
#include "dedup/base/types.h"
#include "dedup/fence/fence.h"

namespace onceward {

// Counts how often reading a partition failed at one offset, and says when to give up. Pure; one
// object for each partition, used under its owner's lock.
class ReadAttempts {
  public:
    // A fetch that was damaged in transit is whole the next time; data that is damaged on the
    // broker's disk is not. More tries only delay the report.
    static constexpr int at_most = 3;
    enum class Verdict : std::uint8_t { again, halt };

    // The records at `offset` could not be read. Failures elsewhere begin a new count.
    Verdict failed(Offset offset);

  private:
    std::optional<Offset> offset_;
    int tries_ = 0;
};

class Assignment {
  public:
    using Clock = std::chrono::steady_clock;
    struct Entry {
        PartitionPhase phase = PartitionPhase::wants_fence;
        FenceState fence;                // as it was taken; its owner may be newer
        Clock::time_point not_before{};  // no take-over earlier
        int missed = 0;                  // fences in a row
        int failed_tries = 0;            // to take it over, in a row
        // Why it is, or last was, halted or waiting, until something is committed.
        Halt trouble;
        std::string pause;          // paused: why
        int seeks_again = 0;        // seeks refused though the log has the offset, since a commit
        bool out_of_range = false;  // wants_fence: the policy decides where to begin
        std::optional<Offset> unreadable;  // reading: it stopped before this offset
        std::string awaits_schema;  // reading: why it stopped before a message; '' if it did not
        ReadAttempts read_tries;
        std::optional<Clock::time_point> retry;  // halted: tried again then
        int halts = 0;                           // in a row, that were tried again by themselves
    };
    struct Seek {
        TopicPartition partition;
        Offset offset;
        LeaderEpoch leader_epoch;
        std::string topic_id;
    };
    // Called with an event that must never happen in the partition's phase. The phase stays.
    using Refused =
        std::function<void(const TopicPartition& partition, PartitionPhase, PartitionEvent)>;

    // After a missed fence the partition waits as `pauses` says, for a random time: otherwise two
    // workers that both believe in their assignment would take the fence from each other for ever.
    // From above heartbeat.interval.ms up to session.timeout.ms.
    explicit Assignment(Backoff pauses, Refused refused = {})
        : pauses_(pauses), refused_(std::move(refused)) {
        pauses_.most = 1.5;
    }

    void assigned(const TopicPartition& partition);
    void revoked(const TopicPartition& partition);
    bool holds(const TopicPartition& partition) const { return entries_.contains(partition); }
    bool reading(const TopicPartition& partition) const;
    void taken(const TopicPartition& partition, const FenceState& fence);
    // Notes who owns the fence, before it is decided whether and where to read: this worker, or the
    // owner that was seen in the row. A halted partition continues when the row has another owner.
    void owned(const TopicPartition& partition, const std::string& owner);
    // The reader is at `offset`. If the fence was taken again meanwhile and has another offset, the
    // reader seeks again.
    void sought(const TopicPartition& partition, Offset offset);
    // `dice`: from 0 to 1.
    void missed(const TopicPartition& partition, Clock::time_point now, double dice);
    // No take-over before `until`, nor before the time that it waits for already.
    void postpone(const TopicPartition& partition, Clock::time_point until);
    // The take-over of `failed` took `tried` and may succeed later: the brokers gave no answer that
    // it needs, or the fence was locked. All take-overs pause, so that batches have most of the
    // time; the first one that failed and then succeeds ends the pause. Returns when `failed` may
    // be tried again. `dice`: from 0 to 1.
    Clock::time_point take_over_failed(const TopicPartition& failed, Clock::time_point now,
                                       Clock::duration tried, double dice);
    // Nothing is read until then; after that the fence is taken and reading begins there. `why` is
    // for people, and empty if the partition knows it already.
    void wait(const TopicPartition& partition, Clock::time_point until,
              const std::string& why = {});
    void committed(const TopicPartition& partition);
    // `first_retry` 0: not tried again by itself. Each further halt in a row waits twice as long,
    // up to ten minutes.
    void halt(const TopicPartition& partition, Halt halt, Clock::time_point now,
              std::chrono::milliseconds first_retry);
    // Kafka does not hold the fence's offset; the writer is to decide by the topic's policy, after
    // a new query of the log.
    void out_of_range(const TopicPartition& partition);
    // What lies at `position` cannot be read. The partition stays `reading` for what was read
    // before, and is tried again, or halted, when that has landed.
    void unreadable(const TopicPartition& partition, Offset position, const std::string& why);
    // The partition is not read further until a schema is known. `why`: the reason, or '' when it
    // is read again. It stays `reading`: what was read before that message continues, and later the
    // partition does, from the message itself.
    void awaits_schema(const TopicPartition& partition, const std::string& why);
    // The partitions that stopped before unreadable records.
    std::vector<TopicPartition> stopped_reading() const;
    ReadAttempts::Verdict read_failed(const TopicPartition& partition, Offset fence);
    // Counts one more seek to an offset that was refused; returns how many came before it.
    int seeks_again(const TopicPartition& partition);
    // After a reconnect: every fence is taken again before any batch. Halted ones stay.
    void retake_all();
    // The fence of a halted partition was moved by hand, or its time to try again has come.
    void wake(const TopicPartition& partition);

    // `topics`: all topics that the operator has paused, with the reasons. Returns those that
    // changed. A halted partition stays what it is, and is paused when it wakes.
    struct PauseChange {
        std::vector<std::string> paused;
        std::vector<std::string> resumed;
    };
    PauseChange set_paused(std::map<std::string, std::string> topics);

    // Returns the one of those that are due that failed the fewest times. If several did, topics
    // without such a failure come first, and then the one that is due for the longest time.
    std::optional<TopicPartition> next_take_over(Clock::time_point now) const;
    std::vector<Seek> seeks() const;
    std::vector<TopicPartition> due_retries(Clock::time_point now) const;
    std::vector<TopicPartition> with_phase(PartitionPhase phase) const;
    std::vector<TopicPartition> of_topic(const std::string& topic) const;
    // Those that are halted, waiting or paused.
    std::vector<TopicPartition> not_fetched() const;
    std::optional<Clock::time_point> next_due() const;
    // Grows whenever the group or the log may have changed, so that the log must be queried again.
    std::uint64_t changes() const { return changes_; }
    const Entry* find(const TopicPartition& partition) const;
    const std::map<TopicPartition, Entry>& entries() const { return entries_; }

  private:
    Entry* mutable_find(const TopicPartition& partition);
    // Moves the entry to the phase that follows, and then follows the pause. Returns false if the
    // event was refused.
    bool apply(PartitionEvent event, const TopicPartition& partition, Entry& entry);
    // Pauses the partition if its topic is paused, and resumes it if not.
    void follow_pause(const TopicPartition& partition, Entry& entry) const;
    // The topics with take-overs that failed: how many tries, and whether each of them asked about
    // all partitions. It did if none of them is known to have a fence.
    struct FailedTopic {
        int tries = 0;
        bool same_question = true;
    };
    using Failed = std::map<std::string_view, FailedTopic>;
    Failed failed_topics() const;
    // How many take-overs with the partition's question failed.
    int failures_of(const TopicPartition& partition, const Entry& entry,
                    const Failed& failed) const;
    // When the partition may be taken over; nullopt if it needs no take-over.
    std::optional<Clock::time_point> due(const TopicPartition& partition, const Entry& entry,
                                         const Failed& failed) const;
    Backoff pauses_;
    Refused refused_;
    std::map<TopicPartition, Entry> entries_;
    std::map<std::string, std::string> paused_;  // topic -> reason
    std::uint64_t changes_ = 0;
    // No take-over before these: of a partition whose last one failed or would ask the same
    // question, and of any other.
    Clock::time_point failed_pause_{};
    Clock::time_point pause_{};
};

}  // namespace onceward
