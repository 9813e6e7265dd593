#pragma once
// What the reader's and the writer's thread share: the assignment, the chunks between them, the
// offsets to commit. Thread-safe: every method takes the one mutex; none of them does I/O. Borrows
// nothing.

#include <condition_variable>
#include <deque>
#include <functional>
#include <set>
#include <utility>

#include "consumer/kafka/kafka_source.h"
#include "consumer/partitions/assignment.h"
#include "dedup/base/mutex.h"
#include "dedup/message/batch.h"

namespace onceward {

class Handoff {
  public:
    using Clock = Assignment::Clock;
    struct Work {
        enum class Kind : std::uint8_t { none, stop, take_over, batch } kind = Kind::none;
        TopicPartition partition;  // take_over
        std::size_t topic = 0;     // batch
        Batch batch;
    };

    Handoff(std::vector<std::string> topics, BatchLimits limits, Backoff pauses);
    // Limits the batches of this topic. Call it before the threads begin.
    void limit(std::size_t topic, BatchLimits limits);

    // The reader's side.
    bool has_room(std::size_t topic) const;
    void push(std::size_t topic, Chunk chunk);
    // Partitions to seek; what the queues still hold of them is discarded, since it began
    // elsewhere.
    std::vector<Assignment::Seek> begin_seeks();
    void sought(const TopicPartition& partition, Offset offset);
    void assigned(const std::vector<TopicPartition>& partitions);
    // Takes the partitions away; waits until no batch in flight holds any of them, or until the
    // deadline. Returns their offsets that are still to be committed.
    std::vector<CommittedOffset> revoked(const std::vector<TopicPartition>& partitions,
                                         std::chrono::milliseconds deadline);

    // The writer's side.
    // What to do now; a batch's partitions are in flight until done(). `connected`: whether work
    // with PostgreSQL is possible. Waits until there is something, or `until`.
    Work next_work(bool connected, Clock::time_point until);
    // Whether a connected writer has something to do: a batch, a take-over, or to stop.
    bool work_waits() const;
    void done();
    // The batch in flight holds them no longer: no transaction will move their fences.
    void abandoned(const std::set<Partition>& partitions);
    // The partitions of the batch in flight that have been revoked.
    std::set<Partition> leaving() const;
    // Those of them that are no longer waited for, because their deadline has passed.
    std::set<Partition> overdue() const;
    // Waits for `duration`, or until the worker stops or a partition in flight leaves.
    void pause(std::chrono::milliseconds duration);
    void committed(const std::string& topic, std::span<const FenceMove> moves);
    // The partitions that were revoked since the last call and did not come back.
    std::vector<TopicPartition> take_left();
    // The offsets to commit, the latest of each partition; empties the list.
    std::vector<CommittedOffset> take_offsets();
    // The offsets after a partition's fence that hold no message: control records and the like.
    // drop_tail() removes it once the fence has been moved over it.
    std::optional<Span> tail(const TopicPartition& partition, Offset fence);
    void drop_tail(const TopicPartition& partition, const Span& tail);
    // The partitions with messages that are queued or in flight, with the first one's timestamp.
    std::map<TopicPartition, std::optional<std::chrono::milliseconds>> on_the_way() const;
    void stop();
    // Discards what is queued. The messages belong to the consumer and must be gone before it.
    void clear();
    bool stopping() const;

    // Reads the assignment under the lock: calls a method of it, or a function that takes it.
    template <class Function, class... Arguments>
    auto look(Function function, const Arguments&... arguments) const {
        const MutexLock lock(mutex_);
        return std::invoke(function, assignment_, arguments...);
    }
    // Changes the assignment in the same way, and wakes the writer.
    template <class Function, class... Arguments>
    auto with(Function function, const Arguments&... arguments) {
        const MutexLock lock(mutex_);
        wake_writer_.notify_all();
        return std::invoke(function, assignment_, arguments...);
    }

  private:
    struct Queue {
        std::string topic;
        BatchLimits limits;
        std::deque<Chunk> chunks;
        std::size_t messages = 0;
        std::size_t bytes = 0;
    };
    void purge(const std::set<TopicPartition>& partitions) ONCEWARD_REQUIRES(mutex_);
    void count(Queue& queue) ONCEWARD_REQUIRES(mutex_);
    std::set<Partition> revoked_in_flight() const ONCEWARD_REQUIRES(mutex_);
    // The partition's first span, with its chunk; null if nothing of it is queued.
    std::pair<Chunk*, Span*> first_span(const TopicPartition& partition) ONCEWARD_REQUIRES(mutex_);
    std::optional<std::size_t> next_topic() const ONCEWARD_REQUIRES(mutex_);
    Batch take_batch(std::size_t topic) ONCEWARD_REQUIRES(mutex_);

    mutable Mutex mutex_;
    std::condition_variable_any wake_writer_;
    std::condition_variable_any wake_reader_;               // a batch in flight has ended
    std::size_t messages_ ONCEWARD_GUARDED_BY(mutex_) = 0;  // in all queues
    Assignment assignment_ ONCEWARD_GUARDED_BY(mutex_);
    std::vector<Queue> queues_ ONCEWARD_GUARDED_BY(mutex_);
    std::size_t last_topic_ ONCEWARD_GUARDED_BY(mutex_) = 0;
    std::string in_flight_topic_ ONCEWARD_GUARDED_BY(mutex_);
    std::set<Partition> in_flight_ ONCEWARD_GUARDED_BY(mutex_);
    std::map<Partition, std::optional<std::chrono::milliseconds>> in_flight_first_
        ONCEWARD_GUARDED_BY(mutex_);
    // revoked and waited for, with their incarnations
    std::map<TopicPartition, std::string> waited_for_ ONCEWARD_GUARDED_BY(mutex_);
    std::map<TopicPartition, CommittedOffset> offsets_ ONCEWARD_GUARDED_BY(mutex_);
    std::set<TopicPartition> left_ ONCEWARD_GUARDED_BY(mutex_);
    bool stopping_ ONCEWARD_GUARDED_BY(mutex_) = false;
};

}  // namespace onceward
