#include "consumer/watch/worker_activity.h"

#include <algorithm>

namespace onceward {

std::string_view to_text(TransactionPart part) {
    constexpr std::array<std::string_view, transaction_parts> names{"fence", "claims", "sink",
                                                                    "settle", "commit"};
    return names.at(static_cast<std::size_t>(part));
}

RebalanceCounts& RebalanceCounts::operator+=(const RebalanceCounts& other) {
    assigned += other.assigned;
    revoked += other.revoked;
    lost += other.lost;
    return *this;
}

LeaseCounts& LeaseCounts::operator+=(const LeaseCounts& other) {
    taken_over += other.taken_over;
    lost += other.lost;
    tried_again += other.tried_again;
    return *this;
}

RoundTripCounts& RoundTripCounts::operator+=(const RoundTripCounts& other) {
    landed += other.landed;
    repeated += other.repeated;
    return *this;
}

Totals WorkerCounts::totals() const {
    Totals sum;
    for (const auto& [topic, totals] : topics) sum += totals;
    return sum;
}

WorkerCounts& WorkerCounts::operator+=(const WorkerCounts& other) {
    for (const auto& [topic, totals] : other.topics) topics[topic] += totals;
    for (const auto& [topic, counts] : other.leases) leases[topic] += counts;
    below_fence += other.below_fence;
    batches += other.batches;
    retries += other.retries;
    reconnects += other.reconnects;
    offsets_skipped += other.offsets_skipped;
    commits_in_doubt += other.commits_in_doubt;
    rejoins += other.rejoins;
    rebalances += other.rebalances;
    round_trips += other.round_trips;
    durations += other.durations;
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] += other.parts[i];
    for (const auto& [topic, some] : other.latencies) latencies[topic] += some;
    return *this;
}

// Every topic is counted from the start, so that 0 differs from unknown.
WorkerActivity::WorkerActivity(const std::vector<std::string>& topics, StepObserver* next)
    : next_(next) {
    for (const std::string& topic : topics) {
        counts_.topics[topic];
        counts_.latencies[topic];
    }
}

const std::string& SessionView::failure_of(const std::string& topic) const {
    const auto found = topic_failures.find(topic);
    return found == topic_failures.end() ? failure : found->second;
}

void WorkerActivity::connected() {
    const MutexLock lock(mutex_);
    view_.connected = true;
    view_.failure.clear();
    view_.topic_failures.clear();
    if (ever_connected_) ++counts_.reconnects;
    ever_connected_ = true;
}

void WorkerActivity::connection_lost(const PostgresError& error) {
    const MutexLock lock(mutex_);
    view_.connected = false;
    view_.failure = error.summary();
    begun_.reset();
    way_ = Way::steps;
    if (error.diagnosis().in_doubt) ++counts_.commits_in_doubt;
}

void WorkerActivity::failed(const std::string& why) {
    const MutexLock lock(mutex_);
    view_.failure = why;
}

void WorkerActivity::retried(const std::string& topic, const PostgresError& error) {
    const MutexLock lock(mutex_);
    (topic.empty() ? view_.failure : view_.topic_failures[topic]) = error.summary();
    begun_.reset();
    ++counts_.retries;
}

void WorkerActivity::taken(const TopicPartition& partition, Offset fence) {
    const MutexLock lock(mutex_);
    fences_[partition] = fence;
}

void WorkerActivity::moved(const std::string& topic, std::span<const FenceMove> moves) {
    const MutexLock lock(mutex_);
    Totals& totals = counts_.topics[topic];
    for (const FenceMove& move : moves) {
        totals += move.totals;
        fences_[{topic, move.span.partition}] = move.span.end;
    }
    ++counts_.batches;
    view_.failure.clear();
    view_.topic_failures.erase(topic);
}

void WorkerActivity::aged(const std::string& topic, const LatencyHistogram& latencies) {
    const MutexLock lock(mutex_);
    counts_.latencies[topic] += latencies;
}

void WorkerActivity::rebalanced(std::int64_t RebalanceCounts::*kind) {
    const MutexLock lock(mutex_);
    ++(counts_.rebalances.*kind);
}

void WorkerActivity::skipped(std::int64_t offsets) {
    const MutexLock lock(mutex_);
    counts_.offsets_skipped += offsets;
}

void WorkerActivity::has_leases(const std::string& topic) {
    const MutexLock lock(mutex_);
    counts_.leases[topic];
}

void WorkerActivity::told(const std::string& topic, LeaseEvent event) {
    const MutexLock lock(mutex_);
    LeaseCounts& counts = counts_.leases[topic];
    switch (event) {
        case LeaseEvent::taken_over: ++counts.taken_over; return;
        case LeaseEvent::lost: ++counts.lost; return;
        case LeaseEvent::tried_again: ++counts.tried_again; return;
    }
}

void WorkerActivity::forget(const std::vector<TopicPartition>& partitions) {
    const MutexLock lock(mutex_);
    for (const TopicPartition& partition : partitions) fences_.erase(partition);
}

void WorkerActivity::idle() {
    const MutexLock lock(mutex_);
    begun_.reset();
    way_ = Way::steps;
}

void WorkerActivity::note(Step step) {
    const auto ends = [this](TransactionPart part) {
        const auto now = Clock::now();
        took_.at(static_cast<std::size_t>(part)) =
            std::chrono::duration<double>(now - last_step_).count();
        last_step_ = now;
    };
    switch (step) {
        case Step::before_begin: {
            took_ = {};
            last_step_ = Clock::now();
            const MutexLock lock(mutex_);
            begun_ = last_step_;
            if (std::exchange(way_, Way::steps) == Way::round_trip) ++counts_.round_trips.repeated;
            return;
        }
        case Step::after_fence: return ends(TransactionPart::fence);
        case Step::after_claims: return ends(TransactionPart::claims);
        case Step::after_sink: return ends(TransactionPart::sink);
        case Step::before_commit: return ends(TransactionPart::settle);
        case Step::sent_whole: {
            // The server does all of its parts while this process waits for one answer.
            const MutexLock lock(mutex_);
            took_ = {};
            last_step_ = begun_.value_or(last_step_);
            way_ = Way::round_trip;
            return;
        }
        case Step::after_commit: {
            ends(TransactionPart::commit);
            const MutexLock lock(mutex_);
            if (std::exchange(way_, Way::steps) == Way::round_trip) ++counts_.round_trips.landed;
            if (!begun_) return;
            counts_.durations.observe(std::chrono::duration<double>(last_step_ - *begun_).count());
            begun_.reset();
            for (std::size_t i = 0; i < took_.size(); ++i) {
                if (took_[i]) counts_.parts[i].observe(*took_[i]);
            }
            return;
        }
        case Step::after_offset:
        case Step::in_rebalance:
        case Step::before_take_over:
        case Step::after_take_over:
        case Step::before_outbox_delete: return;
    }
}

void WorkerActivity::reached(Step step) {
    note(step);
    onceward::reached(next_, step);
}

SessionView WorkerActivity::session(Clock::time_point now) const {
    const MutexLock lock(mutex_);
    SessionView view = view_;
    if (begun_)
        view.transaction = std::chrono::duration_cast<std::chrono::milliseconds>(now - *begun_);
    return view;
}

WorkerCounts WorkerActivity::counts() const {
    const MutexLock lock(mutex_);
    return counts_;
}

std::optional<Offset> WorkerActivity::fence(const TopicPartition& partition) const {
    const MutexLock lock(mutex_);
    const auto found = fences_.find(partition);
    if (found == fences_.end()) return std::nullopt;
    return found->second;
}

}  // namespace onceward
