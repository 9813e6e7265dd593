#include "consumer/watch/memory_suspect.h"

namespace onceward {

bool likelier(const FetchSuspect& left, const FetchSuspect& right) {
    return left.bytes != right.bytes ? left.bytes > right.bytes : left.silent > right.silent;
}

void MemorySuspect::came(const TopicPartition& partition, std::size_t bytes, Offset record,
                         Clock::time_point now) {
    Trail& trail = trails_[partition];
    trail.last = now;
    const bool old = now - trail.record_at > lately;
    if (bytes < large || (bytes < trail.bytes && !old)) return;
    trail.bytes = bytes;
    trail.record = record;
    trail.record_at = now;
}

std::optional<FetchSuspect> MemorySuspect::suspect(std::span<const Open> open,
                                                   Clock::time_point now) const {
    std::optional<FetchSuspect> found;
    for (const Open& one : open) {
        FetchSuspect candidate{.partition = one.partition};
        const auto trail = trails_.find(one.partition);
        const Clock::time_point last = trail == trails_.end() ? begun_ : trail->second.last;
        candidate.silent = std::chrono::duration_cast<std::chrono::milliseconds>(now - last);
        if (trail != trails_.end() && trail->second.bytes > 0) {
            const bool landed = one.fence && *one.fence > trail->second.record;
            if (!landed && now - trail->second.record_at <= lately) {
                candidate.bytes = trail->second.bytes;
                candidate.record = trail->second.record;
            }
        }
        if (candidate.bytes == 0 && !one.waits) continue;
        if (!found || likelier(candidate, *found)) found = candidate;
    }
    return found;
}

}  // namespace onceward
