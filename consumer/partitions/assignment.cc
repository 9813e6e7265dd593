#include "consumer/partitions/assignment.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace onceward {
namespace {

constexpr std::chrono::milliseconds longest_retry{600'000};

template <class Entries, class Predicate>
std::vector<TopicPartition> those(const Entries& entries, Predicate predicate) {
    std::vector<TopicPartition> partitions;
    for (const auto& item : entries) {
        if (predicate(item)) partitions.push_back(item.first);
    }
    return partitions;
}

// After a take-over that failed.
constexpr Backoff failed_pauses{.first = std::chrono::milliseconds(1000),
                                .longest = std::chrono::milliseconds(8000),
                                .least = 0.75};
constexpr std::chrono::seconds longest_pause{30};

bool wants_take_over(const Assignment::Entry& entry) {
    return entry.phase == PartitionPhase::wants_fence || entry.phase == PartitionPhase::waiting;
}

}  // namespace

ReadAttempts::Verdict ReadAttempts::failed(Offset offset) {
    if (offset_ != offset) tries_ = 0;
    offset_ = offset;
    return ++tries_ < at_most ? Verdict::again : Verdict::halt;
}

Assignment::Entry* Assignment::mutable_find(const TopicPartition& partition) {
    const auto found = entries_.find(partition);
    return found == entries_.end() ? nullptr : &found->second;
}

const Assignment::Entry* Assignment::find(const TopicPartition& partition) const {
    const auto found = entries_.find(partition);
    return found == entries_.end() ? nullptr : &found->second;
}

bool Assignment::apply(PartitionEvent event, const TopicPartition& partition, Entry& entry) {
    const std::optional<PartitionPhase> next = partition_machine.after(entry.phase, event);
    if (!next) {
        if (refused_) refused_(partition, entry.phase, event);
        return false;
    }
    entry.phase = *next;
    follow_pause(partition, entry);
    return true;
}

void Assignment::follow_pause(const TopicPartition& partition, Entry& entry) const {
    const auto paused = paused_.find(partition.topic);
    const bool pauses = paused != paused_.end();
    const auto event = pauses ? PartitionEvent::pause : PartitionEvent::resume;
    entry.phase = partition_machine.after(entry.phase, event).value_or(entry.phase);
    if (pauses) entry.pause = paused->second;
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
    for (auto& [partition, entry] : entries_) follow_pause(partition, entry);
    return change;
}

void Assignment::assigned(const TopicPartition& partition) {
    follow_pause(partition, entries_[partition] = Entry{});
    ++changes_;
}

void Assignment::revoked(const TopicPartition& partition) { entries_.erase(partition); }

bool Assignment::reading(const TopicPartition& partition) const {
    const Entry* entry = find(partition);
    return entry != nullptr && entry->phase == PartitionPhase::reading;
}

void Assignment::taken(const TopicPartition& partition, const FenceState& fence) {
    Entry* entry = mutable_find(partition);
    if (entry == nullptr || !apply(PartitionEvent::fence_taken, partition, *entry)) return;
    entry->out_of_range = false;
    entry->unreadable.reset();
    entry->awaits_schema.clear();
    entry->fence = fence;
    // A take-over that did not fail before shows nothing of those that did: it may have asked the
    // brokers nothing, and it has a row of its own.
    if (std::exchange(entry->failed_tries, 0) > 0) failed_pause_ = pause_ = {};
}

void Assignment::owned(const TopicPartition& partition, const std::string& owner) {
    if (Entry* entry = mutable_find(partition)) entry->fence.owner = owner;
}

void Assignment::sought(const TopicPartition& partition, Offset offset) {
    Entry* entry = mutable_find(partition);
    if (entry == nullptr || entry->fence.next_offset != offset) return;
    apply(PartitionEvent::sought, partition, *entry);
}

void Assignment::missed(const TopicPartition& partition, Clock::time_point now, double dice) {
    Entry* entry = mutable_find(partition);
    if (entry == nullptr || entry->phase == PartitionPhase::halted) return;
    apply(PartitionEvent::fence_missed, partition, *entry);
    ++changes_;
    entry->not_before = now + pauses_.after(++entry->missed, dice);
}

void Assignment::postpone(const TopicPartition& partition, Clock::time_point until) {
    if (Entry* entry = mutable_find(partition)) {
        entry->not_before = std::max(entry->not_before, until);
    }
}

// DANGER: all take-overs have to pause. They come before any batch, so with two partitions whose
// leaders are away, or whose fences are locked, one of them would always be due, and no batch would
// run.
Assignment::Clock::time_point Assignment::take_over_failed(const TopicPartition& failed,
                                                           Clock::time_point now,
                                                           Clock::duration tried, double dice) {
    Entry* entry = mutable_find(failed);
    const int failures = entry == nullptr ? 1 : ++entry->failed_tries;
    Clock::duration pause = failed_pauses.after(failures, dice);
    const bool others = std::ranges::any_of(
        entries_, [](const auto& item) { return !wants_take_over(item.second); });
    if (others) pause = std::max(pause, std::min<Clock::duration>(4 * tried, longest_pause));
    failed_pause_ = now + pause;
    pause_ = now + std::min(pause, std::max<Clock::duration>(tried, failed_pauses.first));
    return failed_pause_;
}

void Assignment::wait(const TopicPartition& partition, Clock::time_point until,
                      const std::string& why) {
    Entry* entry = mutable_find(partition);
    if (entry == nullptr || entry->phase == PartitionPhase::halted) return;
    apply(PartitionEvent::wait, partition, *entry);
    if (!why.empty()) entry->trouble = {HaltReason::failed, why};
    entry->not_before = until;
}

void Assignment::committed(const TopicPartition& partition) {
    if (Entry* entry = mutable_find(partition)) {
        entry->missed = 0;
        entry->halts = 0;
        entry->seeks_again = 0;
        if (entry->phase != PartitionPhase::halted && !entry->unreadable) entry->trouble = {};
    }
}

void Assignment::halt(const TopicPartition& partition, Halt halt, Clock::time_point now,
                      std::chrono::milliseconds first_retry) {
    Entry* entry = mutable_find(partition);
    if (entry == nullptr) return;
    apply(PartitionEvent::halt, partition, *entry);
    entry->trouble = std::move(halt);
    entry->retry.reset();
    if (first_retry.count() == 0) return;
    const Backoff backoff{.first = first_retry, .longest = std::max(first_retry, longest_retry)};
    entry->retry = now + backoff.whole(++entry->halts);
}

void Assignment::out_of_range(const TopicPartition& partition) {
    Entry* entry = mutable_find(partition);
    if (entry == nullptr || entry->phase == PartitionPhase::halted) return;
    apply(PartitionEvent::out_of_range, partition, *entry);
    entry->out_of_range = true;
    entry->not_before = {};
    ++changes_;
}

void Assignment::unreadable(const TopicPartition& partition, Offset position,
                            const std::string& why) {
    Entry* entry = mutable_find(partition);
    if (entry == nullptr || entry->phase != PartitionPhase::reading) return;
    entry->unreadable = position;
    entry->trouble = {HaltReason::unreadable, why, {}, position};
}

void Assignment::awaits_schema(const TopicPartition& partition, const std::string& why) {
    if (Entry* entry = mutable_find(partition)) entry->awaits_schema = why;
}

std::vector<TopicPartition> Assignment::stopped_reading() const {
    return those(entries_, [](const auto& item) {
        return item.second.phase == PartitionPhase::reading && item.second.unreadable;
    });
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
        apply(PartitionEvent::session_lost, partition, entry);
        const bool stays =
            entry.phase == PartitionPhase::halted || entry.phase == PartitionPhase::waiting;
        if (!stays) entry.not_before = {};
    }
}

void Assignment::wake(const TopicPartition& partition) {
    Entry* entry = mutable_find(partition);
    if (entry == nullptr || entry->phase != PartitionPhase::halted) return;
    apply(PartitionEvent::wake, partition, *entry);
    ++changes_;
    entry->not_before = {};
    entry->retry.reset();
    entry->read_tries = {};
    // If the fence is still out of range, Kafka says so again.
    entry->out_of_range = false;
    entry->seeks_again = 0;
}

Assignment::Failed Assignment::failed_topics() const {
    Failed failed;
    for (const auto& [partition, entry] : entries_) {
        if (entry.failed_tries > 0) failed[partition.topic].tries += entry.failed_tries;
    }
    if (failed.empty()) return failed;
    for (const auto& [partition, entry] : entries_) {
        if (entry.fence.owner.empty()) continue;
        if (const auto found = failed.find(partition.topic); found != failed.end()) {
            found->second.same_question = false;
        }
    }
    return failed;
}

// The first take-over of a topic asks about all its partitions, so it fails for each of them. If
// each was counted by itself, a topic with many partitions would take half of the worker's time,
// and have all its tries before the second one of another topic.
int Assignment::failures_of(const TopicPartition& partition, const Entry& entry,
                            const Failed& failed) const {
    const auto topic = failed.find(partition.topic);
    const bool same = topic != failed.end() && topic->second.same_question;
    return same ? topic->second.tries : entry.failed_tries;
}

std::optional<Assignment::Clock::time_point> Assignment::due(const TopicPartition& partition,
                                                             const Entry& entry,
                                                             const Failed& failed) const {
    if (!wants_take_over(entry)) return std::nullopt;
    const bool fails = failures_of(partition, entry, failed) > 0;
    return std::max(entry.not_before, fails ? failed_pause_ : pause_);
}

std::optional<TopicPartition> Assignment::next_take_over(Clock::time_point now) const {
    const Failed failed = failed_topics();
    const auto order = [&](const auto& item) {
        const auto& [partition, entry] = item;
        return std::tuple(failures_of(partition, entry, failed), failed.contains(partition.topic),
                          entry.failed_tries, entry.not_before);
    };
    const std::pair<const TopicPartition, Entry>* next = nullptr;
    for (const auto& item : entries_) {
        const auto time = due(item.first, item.second, failed);
        if (!time || *time > now) continue;
        if (next == nullptr || order(item) < order(*next)) next = &item;
    }
    return next == nullptr ? std::nullopt : std::optional(next->first);
}

std::vector<Assignment::Seek> Assignment::seeks() const {
    std::vector<Seek> seeks;
    for (const auto& [partition, entry] : entries_) {
        if (entry.phase == PartitionPhase::wants_seek) {
            const FenceState& fence = entry.fence;
            seeks.push_back({partition, fence.next_offset, fence.leader_epoch, fence.topic_id});
        }
    }
    return seeks;
}

std::vector<TopicPartition> Assignment::due_retries(Clock::time_point now) const {
    return those(entries_, [&](const auto& item) {
        const Entry& entry = item.second;
        return entry.phase == PartitionPhase::halted && entry.retry && *entry.retry <= now;
    });
}

std::vector<TopicPartition> Assignment::with_phase(PartitionPhase phase) const {
    return those(entries_, [&](const auto& item) { return item.second.phase == phase; });
}

std::vector<TopicPartition> Assignment::of_topic(const std::string& topic) const {
    return those(entries_, [&](const auto& item) { return item.first.topic == topic; });
}

std::vector<TopicPartition> Assignment::not_fetched() const {
    return those(entries_, [](const auto& item) {
        const PartitionPhase phase = item.second.phase;
        return phase == PartitionPhase::halted || phase == PartitionPhase::waiting ||
               phase == PartitionPhase::paused;
    });
}

std::optional<Assignment::Clock::time_point> Assignment::next_due() const {
    std::optional<Clock::time_point> next;
    const auto consider = [&](std::optional<Clock::time_point> time) {
        if (time && (!next || *time < *next)) next = time;
    };
    const Failed failed = failed_topics();
    for (const auto& [partition, entry] : entries_) {
        consider(due(partition, entry, failed));
        if (entry.phase == PartitionPhase::halted) consider(entry.retry);
    }
    return next;
}

}  // namespace onceward
