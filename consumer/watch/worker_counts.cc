#include "consumer/watch/worker_counts.h"

#include <algorithm>

namespace onceward {

void DurationHistogram::observe(double seconds) {
    const auto bound = std::ranges::lower_bound(bounds, seconds);
    ++counts[static_cast<std::size_t>(bound - bounds.begin())];
    sum += seconds;
}

DurationHistogram& DurationHistogram::operator+=(const DurationHistogram& other) {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
    sum += other.sum;
    return *this;
}

LeaseCounts& LeaseCounts::operator+=(const LeaseCounts& other) {
    taken_over += other.taken_over;
    lost += other.lost;
    tried_again += other.tried_again;
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
    durations += other.durations;
    return *this;
}

}  // namespace onceward
