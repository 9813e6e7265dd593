#include "consumer/partitions/handoff.h"

#include <algorithm>

#include "dedup/base/logging.h"
#include "dedup/base/mutants.h"

namespace onceward {
namespace {

// The queue between the threads holds this many batches, so that fetching and decoding overlap with
// the commit.
constexpr std::size_t queued_batches = 2;
// Queue at least this many messages even if batches are small, or each batch would cost a switch
// between both threads.
constexpr std::size_t queued_at_least = 2000;
// The queues of all topics together hold this many batches, or memory would grow with the number of
// topics. A topic that has nothing queued may always read.
constexpr std::size_t queued_batches_of_all = 32;

std::set<Partition> not_reading(const Assignment& assignment, const std::string& topic,
                                const Batch& batch) {
    std::set<Partition> partitions;
    for (const Span& span : batch.spans) {
        if (!assignment.reading({topic, span.partition})) partitions.insert(span.partition);
    }
    return partitions;
}

void report_refused(const TopicPartition& partition, PartitionPhase phase, PartitionEvent event) {
    log_error("partition.wrong_event", {{"topic", partition.topic},
                                        {"partition", partition.partition.raw()},
                                        {"phase", partition_machine.text(phase)},
                                        {"event", partition_machine.text(event)}});
}

// Merges a chunk that only moves the position (PARTITION_EOF) into the chunk before it, so that an
// idle partition accumulates nothing.
bool absorb(Chunk& last, const Chunk& chunk) {
    if (!chunk.messages.empty()) return false;
    std::vector<Span> spans = last.spans;
    for (const Span& span : chunk.spans) {
        const auto at = std::ranges::find(spans, span.partition, &Span::partition);
        if (at == spans.end()) {
            spans.push_back(span);
        } else if (at->end == span.begin) {
            at->end = span.end;
            // DANGER: an older epoch at a later offset makes librdkafka's next seek there look like
            // a seek into a truncated log, and the healthy partition halts until an operator acts.
            if (!mutant("absorbed_end_keeps_the_epoch")) at->leader_epoch = span.leader_epoch;
        } else {
            return false;
        }
    }
    last.spans = std::move(spans);
    return true;
}

// Adds the timestamp of each partition's first message, unless an earlier chunk had one.
void add_first(const Chunk& chunk,
               std::map<Partition, std::optional<std::chrono::milliseconds>>& first) {
    std::size_t wanted = 0;
    for (const Span& span : chunk.spans) wanted += first.contains(span.partition) ? 0 : 1;
    for (const Message& message : chunk.messages) {
        if (wanted == 0) return;
        if (first.try_emplace(message.record.partition, message.record.timestamp).second) --wanted;
    }
}

}  // namespace

Handoff::Handoff(std::vector<std::string> topics, BatchLimits limits, Backoff pauses)
    : assignment_(pauses, report_refused), queues_(topics.size()) {
    for (std::size_t i = 0; i < topics.size(); ++i) {
        queues_[i].topic = std::move(topics[i]);
        queues_[i].limits = limits;
    }
}

void Handoff::limit(std::size_t topic, BatchLimits limits) {
    const MutexLock lock(mutex_);
    queues_[topic].limits = limits;
}

bool Handoff::has_room(std::size_t topic) const {
    const MutexLock lock(mutex_);
    const Queue& queue = queues_[topic];
    const std::size_t of_all =
        std::max(queue.limits.messages * queued_batches_of_all, queued_at_least);
    if (queue.messages > 0 && messages_ >= of_all) return false;
    return queue.messages < std::max(queue.limits.messages * queued_batches, queued_at_least) &&
           queue.bytes < queue.limits.bytes * queued_batches;
}

void Handoff::push(std::size_t topic, Chunk chunk) {
    if (chunk.spans.empty()) return;
    const MutexLock lock(mutex_);
    Queue& queue = queues_[topic];
    if (!queue.chunks.empty() && absorb(queue.chunks.back(), chunk)) return;
    queue.messages += chunk.messages.size();
    messages_ += chunk.messages.size();
    queue.bytes += chunk.bytes;
    queue.chunks.push_back(std::move(chunk));
    wake_writer_.notify_all();
}

void Handoff::count(Queue& queue) {
    messages_ -= queue.messages;
    queue.messages = 0;
    queue.bytes = 0;
    for (const Chunk& chunk : queue.chunks) {
        queue.messages += chunk.messages.size();
        queue.bytes += chunk.bytes;
    }
    messages_ += queue.messages;
}

void Handoff::purge(const std::set<TopicPartition>& partitions) {
    for (Queue& queue : queues_) {
        const auto gone = [&](Partition partition) {
            return partitions.contains({queue.topic, partition});
        };
        for (Chunk& chunk : queue.chunks) {
            std::erase_if(chunk.messages,
                          [&](const Message& message) { return gone(message.record.partition); });
            std::erase_if(chunk.spans, [&](const Span& span) { return gone(span.partition); });
        }
        std::erase_if(queue.chunks, [](const Chunk& chunk) { return chunk.spans.empty(); });
        count(queue);
    }
}

std::vector<Assignment::Seek> Handoff::begin_seeks() {
    const MutexLock lock(mutex_);
    std::vector<Assignment::Seek> seeks = assignment_.seeks();
    std::set<TopicPartition> partitions;
    for (const Assignment::Seek& seek : seeks) partitions.insert(seek.partition);
    if (!partitions.empty()) purge(partitions);
    return seeks;
}

void Handoff::sought(const TopicPartition& partition, Offset offset) {
    const MutexLock lock(mutex_);
    assignment_.sought(partition, offset);
}

void Handoff::assigned(const std::vector<TopicPartition>& partitions) {
    const MutexLock lock(mutex_);
    for (const TopicPartition& partition : partitions) assignment_.assigned(partition);
    wake_writer_.notify_all();
}

std::vector<CommittedOffset> Handoff::revoked(const std::vector<TopicPartition>& partitions,
                                              std::chrono::milliseconds deadline) {
    MutexLock lock(mutex_);
    for (const TopicPartition& partition : partitions) {
        const Assignment::Entry* entry = assignment_.find(partition);
        waited_for_[partition] = entry == nullptr ? "" : entry->fence.incarnation;
        assignment_.revoked(partition);
    }
    purge({partitions.begin(), partitions.end()});
    left_.insert(partitions.begin(), partitions.end());
    wake_writer_.notify_all();
    wake_reader_.wait_for(lock, deadline, [&]() ONCEWARD_REQUIRES(mutex_) {
        return std::ranges::none_of(
            partitions, [&](const TopicPartition& one) ONCEWARD_REQUIRES(mutex_) {
                return one.topic == in_flight_topic_ && in_flight_.contains(one.partition);
            });
    });
    std::vector<CommittedOffset> offsets;
    for (const TopicPartition& partition : partitions) {
        const auto found = offsets_.find(partition);
        if (found == offsets_.end()) continue;
        offsets.push_back(found->second);
        offsets_.erase(found);
    }
    waited_for_.clear();
    return offsets;
}

std::optional<std::size_t> Handoff::next_topic() const {
    for (std::size_t i = 1; i <= queues_.size(); ++i) {
        const std::size_t topic = (last_topic_ + i) % queues_.size();
        if (queues_[topic].messages > 0) return topic;
    }
    return std::nullopt;
}

Batch Handoff::take_batch(std::size_t topic) {
    Queue& queue = queues_[topic];
    Batch batch;
    batch.topic = queue.topic;
    while (!queue.chunks.empty() && fits(batch, queue.chunks.front(), queue.limits)) {
        append(batch, std::move(queue.chunks.front()));
        queue.chunks.pop_front();
    }
    count(queue);
    drop(batch, not_reading(assignment_, queue.topic, batch));
    last_topic_ = topic;
    return batch;
}

Handoff::Work Handoff::next_work(bool connected, Clock::time_point until) {
    MutexLock lock(mutex_);
    Work work;
    const auto find = [&]() ONCEWARD_REQUIRES(mutex_) {
        if (stopping_ && assignment_.entries().empty()) {
            work.kind = Work::Kind::stop;
            return true;
        }
        if (!connected || stopping_) return false;
        if (const auto partition = assignment_.next_take_over(Clock::now())) {
            work.kind = Work::Kind::take_over;
            work.partition = *partition;
            return true;
        }
        while (const auto topic = next_topic()) {
            work.batch = take_batch(*topic);
            if (work.batch.empty()) continue;
            work.kind = Work::Kind::batch;
            work.topic = *topic;
            in_flight_topic_ = work.batch.topic;
            for (const Span& span : work.batch.spans) in_flight_.insert(span.partition);
            for (const Chunk& chunk : work.batch.chunks) add_first(chunk, in_flight_first_);
            return true;
        }
        return false;
    };
    if (find()) return work;
    if (const auto due = assignment_.next_due()) until = std::min(until, *due);
    wake_writer_.wait_until(lock, until);
    find();
    return work;
}

bool Handoff::work_waits() const {
    const MutexLock lock(mutex_);
    return stopping_ || assignment_.next_take_over(Clock::now()) || next_topic();
}

void Handoff::done() {
    const MutexLock lock(mutex_);
    in_flight_.clear();
    in_flight_first_.clear();
    in_flight_topic_.clear();
    wake_reader_.notify_all();
}

void Handoff::abandoned(const std::set<Partition>& partitions) {
    const MutexLock lock(mutex_);
    for (const Partition partition : partitions) {
        in_flight_.erase(partition);
        in_flight_first_.erase(partition);
    }
    wake_reader_.notify_all();
}

std::set<Partition> Handoff::revoked_in_flight() const {
    std::set<Partition> partitions;
    for (const Partition partition : in_flight_) {
        if (!assignment_.holds({in_flight_topic_, partition})) partitions.insert(partition);
    }
    return partitions;
}

std::set<Partition> Handoff::leaving() const {
    const MutexLock lock(mutex_);
    return revoked_in_flight();
}

std::set<Partition> Handoff::overdue() const {
    const MutexLock lock(mutex_);
    std::set<Partition> partitions = revoked_in_flight();
    std::erase_if(partitions, [&](Partition partition) ONCEWARD_REQUIRES(mutex_) {
        return waited_for_.contains({in_flight_topic_, partition});
    });
    return partitions;
}

void Handoff::pause(std::chrono::milliseconds duration) {
    MutexLock lock(mutex_);
    wake_writer_.wait_for(lock, duration, [&]() ONCEWARD_REQUIRES(mutex_) {
        return stopping_ || !revoked_in_flight().empty();
    });
}

void Handoff::committed(const std::string& topic, std::span<const FenceMove> moves) {
    const MutexLock lock(mutex_);
    for (const FenceMove& move : moves) {
        const TopicPartition partition{topic, move.span.partition};
        const Assignment::Entry* entry = assignment_.find(partition);
        const auto waited_for = waited_for_.find(partition);
        // A late commit for a partition that somebody else has by now would move the group's offset
        // backwards.
        if (entry == nullptr && waited_for == waited_for_.end()) continue;
        assignment_.committed(partition);
        offsets_[partition] = {partition, move.span.end, move.span.leader_epoch,
                               entry != nullptr ? entry->fence.incarnation : waited_for->second};
    }
}

std::vector<CommittedOffset> Handoff::take_offsets() {
    const MutexLock lock(mutex_);
    std::vector<CommittedOffset> offsets;
    for (auto& [partition, offset] : offsets_) offsets.push_back(std::move(offset));
    offsets_.clear();
    return offsets;
}

std::vector<TopicPartition> Handoff::take_left() {
    const MutexLock lock(mutex_);
    std::vector<TopicPartition> left;
    for (const TopicPartition& partition : left_) {
        if (!assignment_.holds(partition)) left.push_back(partition);
    }
    left_.clear();
    return left;
}

std::pair<Chunk*, Span*> Handoff::first_span(const TopicPartition& partition) {
    const auto queue = std::ranges::find(queues_, partition.topic, &Queue::topic);
    if (queue == queues_.end()) return {};
    for (Chunk& chunk : queue->chunks) {
        const auto span = std::ranges::find(chunk.spans, partition.partition, &Span::partition);
        if (span != chunk.spans.end()) return {&chunk, &*span};
    }
    return {};
}

std::optional<Span> Handoff::tail(const TopicPartition& partition, Offset fence) {
    const MutexLock lock(mutex_);
    if (!assignment_.reading(partition)) return std::nullopt;
    const auto [chunk, span] = first_span(partition);
    if (span == nullptr || span->begin != fence) return std::nullopt;
    const bool messages = std::ranges::any_of(chunk->messages, [&](const Message& message) {
        return message.record.partition == partition.partition;
    });
    return messages ? std::nullopt : std::optional(*span);
}

void Handoff::drop_tail(const TopicPartition& partition, const Span& tail) {
    const MutexLock lock(mutex_);
    Span* span = first_span(partition).second;
    // The reader may have appended more to it meanwhile.
    if (span != nullptr && span->begin == tail.begin && span->end >= tail.end) {
        span->begin = tail.end;
    }
}

std::map<TopicPartition, std::optional<std::chrono::milliseconds>> Handoff::on_the_way() const {
    const MutexLock lock(mutex_);
    std::map<TopicPartition, std::optional<std::chrono::milliseconds>> found;
    for (const Queue& queue : queues_) {
        std::map<Partition, std::optional<std::chrono::milliseconds>> first;
        if (queue.topic == in_flight_topic_) first = in_flight_first_;
        for (const Chunk& chunk : queue.chunks) add_first(chunk, first);
        for (const auto& [partition, time] : first) found[{queue.topic, partition}] = time;
    }
    return found;
}

void Handoff::stop() {
    const MutexLock lock(mutex_);
    stopping_ = true;
    wake_writer_.notify_all();
}

void Handoff::clear() {
    const MutexLock lock(mutex_);
    for (Queue& queue : queues_) {
        queue.chunks.clear();
        count(queue);
    }
}

bool Handoff::stopping() const {
    const MutexLock lock(mutex_);
    return stopping_;
}

}  // namespace onceward
