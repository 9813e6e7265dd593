#include "dedup/policy/topic_policy.h"

#include <algorithm>

#include "dedup/base/backoff.h"

namespace onceward {
namespace {

constexpr std::chrono::milliseconds longest{300'000};

}  // namespace

void RejectionWindow::expire(Clock::time_point now) {
    while (!entries_.empty() && entries_.front().time + policy_.cap_window < now) {
        entries_.pop_front();
    }
}

bool RejectionWindow::would_exceed(Clock::time_point now, std::int64_t passed,
                                   std::int64_t rejected) {
    if (rejected == 0) return false;
    expire(now);
    for (const Entry& entry : entries_) {
        passed += entry.passed;
        rejected += entry.rejected;
    }
    return rejected >= policy_.cap_minimum &&
           static_cast<double>(rejected) > policy_.cap_share * static_cast<double>(passed);
}

void RejectionWindow::record(Clock::time_point now, std::int64_t passed, std::int64_t rejected) {
    expire(now);
    // One entry a second is enough, and bounds the memory.
    if (!entries_.empty() && now - entries_.back().time < std::chrono::seconds(1)) {
        entries_.back().passed += passed;
        entries_.back().rejected += rejected;
        return;
    }
    entries_.push_back({now, passed, rejected});
}

std::optional<std::chrono::milliseconds> MessageRetries::next(Partition partition, Offset offset) {
    if (attempts_ == 0) return std::nullopt;
    Waiting& waiting = waiting_[partition];
    if (waiting.offset != offset) waiting = {offset, 0};
    if (waiting.tried >= attempts_) return std::nullopt;
    return Backoff{.first = backoff_, .longest = std::max(backoff_, longest)}.whole(
        ++waiting.tried);
}

int MessageRetries::tried(Partition partition, Offset offset) const {
    const auto found = waiting_.find(partition);
    return found == waiting_.end() || found->second.offset != offset ? 0 : found->second.tried;
}

void MessageRetries::passed(Partition partition, Offset end) {
    const auto found = waiting_.find(partition);
    if (found != waiting_.end() && found->second.offset < end) waiting_.erase(found);
}

}  // namespace onceward
