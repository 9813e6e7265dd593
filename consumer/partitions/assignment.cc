#include "consumer/partitions/assignment.h"

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

void Assignment::begin(const TopicPartition& partition, Entry& entry) {
    const auto paused = paused_.find(partition.topic);
    if (paused == paused_.end()) {
        entry.phase = PartitionPhase::wants_fence;
        return;
    }
    entry.phase = PartitionPhase::paused;
    entry.pause = paused->second;
}

Assignment::PauseChange Assignment::set_paused(std::map<std::string, std::string> topics) {
    PauseChange change;
    for (const auto& [topic, reason] : topics) {
        if (!paused_.contains(topic)) change.paused.push_back(topic);
    }
    for (const auto& [topic, reason] : paused_) {
        if (!topics.contains(topic)) change.resumed.push_back(topic);
    }
    paused_ = std::move(topics);
    for (auto& [partition, entry] : entries_) {
        if (entry.phase == PartitionPhase::halted) continue;
        const bool was_paused = entry.phase == PartitionPhase::paused;
        if (was_paused || paused_.contains(partition.topic)) begin(partition, entry);
    }
    return change;
}

void Assignment::assigned(const TopicPartition& partition) {
    begin(partition, entries_[partition] = Entry{});
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
    entry->unreadable.reset();
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
    begin(partition, *entry);
    ++changes_;
    entry->backoff =
        entry->backoff.count() == 0 ? pauses_.first : std::min(entry->backoff * 2, pauses_.longest);
    const auto whole = std::chrono::duration<double, std::milli>(entry->backoff);
    entry->not_before =
        now + std::chrono::duration_cast<Clock::duration>(whole * (1.0 + jitter / 2));
}

void Assignment::postpone(const TopicPartition& partition, Clock::time_point until) {
    if (Entry* entry = mutable_find(partition)) {
        entry->not_before = std::max(entry->not_before, until);
    }
}

void Assignment::wait(const TopicPartition& partition, Clock::time_point until,
                      const std::string& why) {
    Entry* entry = mutable_find(partition);
    if (entry == nullptr || entry->phase == PartitionPhase::halted) return;
    begin(partition, *entry);
    if (!why.empty()) entry->halt = {HaltReason::failed, why};
    if (entry->phase == PartitionPhase::wants_fence) entry->phase = PartitionPhase::waiting;
    entry->not_before = until;
}

void Assignment::committed(const TopicPartition& partition) {
    if (Entry* entry = mutable_find(partition)) {
        entry->backoff = std::chrono::milliseconds(0);
        entry->retry_delay = std::chrono::milliseconds(0);
        entry->seeks_again = 0;
        if (entry->phase != PartitionPhase::halted && !entry->unreadable) entry->halt = {};
    }
}

void Assignment::halt(const TopicPartition& partition, Halt halt, Clock::time_point now,
                      std::chrono::milliseconds first_retry) {
    Entry* entry = mutable_find(partition);
    if (entry == nullptr) return;
    entry->phase = PartitionPhase::halted;
    entry->halt = std::move(halt);
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
    begin(partition, *entry);
    entry->out_of_range = true;
    entry->not_before = {};
    ++changes_;
}

void Assignment::unreadable(const TopicPartition& partition, Offset position,
                            const std::string& why) {
    Entry* entry = mutable_find(partition);
    if (entry == nullptr || entry->phase != PartitionPhase::reading) return;
    entry->unreadable = position;
    entry->halt = {HaltReason::unreadable, why, {}, position};
}

std::vector<TopicPartition> Assignment::unreadable() const {
    std::vector<TopicPartition> partitions;
    for (const auto& [partition, entry] : entries_) {
        if (entry.phase == PartitionPhase::reading && entry.unreadable) {
            partitions.push_back(partition);
        }
    }
    return partitions;
}

ReadAttempts::Verdict Assignment::read_failed(const TopicPartition& partition, Offset fence) {
    Entry* entry = mutable_find(partition);
    return entry == nullptr ? ReadAttempts::Verdict::again : entry->read_tries.failed(fence);
}

int Assignment::seeks_again(const TopicPartition& partition) {
    Entry* entry = mutable_find(partition);
    return entry == nullptr ? 0 : entry->seeks_again++;
}

void Assignment::retake_all() {
    for (auto& [partition, entry] : entries_) {
        if (entry.phase == PartitionPhase::halted || entry.phase == PartitionPhase::waiting)
            continue;
        begin(partition, entry);
        entry.not_before = {};
    }
}

void Assignment::wake(const TopicPartition& partition) {
    Entry* entry = mutable_find(partition);
    if (entry == nullptr || entry->phase != PartitionPhase::halted) return;
    begin(partition, *entry);
    ++changes_;
    entry->not_before = {};
    entry->retry.reset();
    entry->read_tries = {};
}

std::optional<TopicPartition> Assignment::next_take_over(Clock::time_point now) const {
    for (const auto& [partition, entry] : entries_) {
        const bool wants =
            entry.phase == PartitionPhase::wants_fence || entry.phase == PartitionPhase::waiting;
        if (wants && entry.not_before <= now) return partition;
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

std::vector<TopicPartition> Assignment::of_topic(const std::string& topic) const {
    std::vector<TopicPartition> partitions;
    for (const auto& [partition, entry] : entries_) {
        if (partition.topic == topic) partitions.push_back(partition);
    }
    return partitions;
}

std::vector<TopicPartition> Assignment::standing() const {
    std::vector<TopicPartition> partitions;
    for (const auto& [partition, entry] : entries_) {
        switch (entry.phase) {
            case PartitionPhase::halted:
            case PartitionPhase::waiting:
            case PartitionPhase::paused: partitions.push_back(partition); break;
            case PartitionPhase::wants_fence:
            case PartitionPhase::wants_seek:
            case PartitionPhase::reading: break;
        }
    }
    return partitions;
}

std::optional<Assignment::Clock::time_point> Assignment::next_due() const {
    std::optional<Clock::time_point> due;
    const auto consider = [&](Clock::time_point time) {
        if (!due || time < *due) due = time;
    };
    for (const auto& [partition, entry] : entries_) {
        if (entry.phase == PartitionPhase::wants_fence || entry.phase == PartitionPhase::waiting) {
            consider(entry.not_before);
        }
        if (entry.phase == PartitionPhase::halted && entry.retry) consider(*entry.retry);
    }
    return due;
}

}  // namespace onceward
