#include "consumer/assignment.h"

#include <algorithm>

namespace onceward {
namespace {

constexpr std::chrono::milliseconds longest_retry{600'000};

}  // namespace

Assignment::Entry* Assignment::mutable_find(const TopicPartition& partition) {
    const auto found = entries_.find(partition);
    return found == entries_.end() ? nullptr : &found->second;
}

const Assignment::Entry* Assignment::find(const TopicPartition& partition) const {
    const auto found = entries_.find(partition);
    return found == entries_.end() ? nullptr : &found->second;
}

void Assignment::assigned(const TopicPartition& partition) {
    entries_[partition] = Entry{};
    ++changes_;
}

void Assignment::revoked(const TopicPartition& partition) { entries_.erase(partition); }

bool Assignment::reading(const TopicPartition& partition) const {
    const Entry* entry = find(partition);
    return entry != nullptr && entry->phase == PartitionPhase::reading;
}

void Assignment::taken(const TopicPartition& partition, const FenceState& fence) {
    Entry* entry = mutable_find(partition);
    if (entry == nullptr) return;
    entry->phase = PartitionPhase::wants_seek;
    entry->out_of_range = false;
    entry->begin = fence.next_offset;
    entry->leader_epoch = fence.leader_epoch;
    entry->incarnation = fence.incarnation;
    entry->owner = fence.owner;
    entry->topic_id = fence.topic_id;
}

void Assignment::owned(const TopicPartition& partition, const std::string& owner) {
    if (Entry* entry = mutable_find(partition)) entry->owner = owner;
}

void Assignment::sought(const TopicPartition& partition, Offset offset) {
    Entry* entry = mutable_find(partition);
    if (entry != nullptr && entry->phase == PartitionPhase::wants_seek && entry->begin == offset) {
        entry->phase = PartitionPhase::reading;
    }
}

void Assignment::missed(const TopicPartition& partition, Clock::time_point now, double jitter) {
    Entry* entry = mutable_find(partition);
    if (entry == nullptr || entry->phase == PartitionPhase::halted) return;
    entry->phase = PartitionPhase::wants_fence;
    entry->backoff = entry->backoff.count() == 0 ? pauses_.first
                                                 : std::min(entry->backoff * 2, pauses_.longest);
    const auto whole = std::chrono::duration<double, std::milli>(entry->backoff);
    entry->not_before = now +
        std::chrono::duration_cast<Clock::duration>(whole * (1.0 + jitter / 2));
}

void Assignment::postpone(const TopicPartition& partition, Clock::time_point until) {
    if (Entry* entry = mutable_find(partition)) entry->not_before = until;
}

void Assignment::committed(const TopicPartition& partition) {
    if (Entry* entry = mutable_find(partition)) {
        entry->backoff = std::chrono::milliseconds(0);
        entry->retry_delay = std::chrono::milliseconds(0);
    }
}

void Assignment::halt(const TopicPartition& partition, const std::string& reason,
                      Clock::time_point now, std::chrono::milliseconds first_retry) {
    Entry* entry = mutable_find(partition);
    if (entry == nullptr) return;
    entry->phase = PartitionPhase::halted;
    entry->reason = reason;
    entry->retry.reset();
    if (first_retry.count() == 0) return;
    entry->retry_delay = entry->retry_delay.count() == 0
                             ? first_retry
                             : std::min(entry->retry_delay * 2, longest_retry);
    entry->retry = now + entry->retry_delay;
}

void Assignment::out_of_range(const TopicPartition& partition) {
    Entry* entry = mutable_find(partition);
    if (entry == nullptr || entry->phase == PartitionPhase::halted) return;
    entry->phase = PartitionPhase::wants_fence;
    entry->out_of_range = true;
    entry->not_before = {};
    ++changes_;
}

void Assignment::retake_all() {
    for (auto& [partition, entry] : entries_) {
        if (entry.phase == PartitionPhase::halted) continue;
        entry.phase = PartitionPhase::wants_fence;
        entry.not_before = {};
    }
}

void Assignment::wake(const TopicPartition& partition) {
    Entry* entry = mutable_find(partition);
    if (entry == nullptr || entry->phase != PartitionPhase::halted) return;
    entry->phase = PartitionPhase::wants_fence;
    entry->not_before = {};
    entry->retry.reset();
}

std::optional<TopicPartition> Assignment::next_take_over(Clock::time_point now) const {
    for (const auto& [partition, entry] : entries_) {
        if (entry.phase == PartitionPhase::wants_fence && entry.not_before <= now) return partition;
    }
    return std::nullopt;
}

std::vector<Assignment::Seek> Assignment::seeks() const {
    std::vector<Seek> seeks;
    for (const auto& [partition, entry] : entries_) {
        if (entry.phase == PartitionPhase::wants_seek) {
            seeks.push_back({partition, entry.begin, entry.leader_epoch, entry.topic_id});
        }
    }
    return seeks;
}

std::vector<TopicPartition> Assignment::due_retries(Clock::time_point now) const {
    std::vector<TopicPartition> due;
    for (const auto& [partition, entry] : entries_) {
        if (entry.phase == PartitionPhase::halted && entry.retry && *entry.retry <= now) {
            due.push_back(partition);
        }
    }
    return due;
}

std::vector<TopicPartition> Assignment::with_phase(PartitionPhase phase) const {
    std::vector<TopicPartition> partitions;
    for (const auto& [partition, entry] : entries_) {
        if (entry.phase == phase) partitions.push_back(partition);
    }
    return partitions;
}

std::optional<Assignment::Clock::time_point> Assignment::next_due() const {
    std::optional<Clock::time_point> due;
    const auto consider = [&](Clock::time_point time) {
        if (!due || time < *due) due = time;
    };
    for (const auto& [partition, entry] : entries_) {
        if (entry.phase == PartitionPhase::wants_fence) consider(entry.not_before);
        if (entry.phase == PartitionPhase::halted && entry.retry) consider(*entry.retry);
    }
    return due;
}

}  // namespace onceward
