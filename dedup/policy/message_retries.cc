#include "dedup/policy/message_retries.h"

#include <algorithm>

namespace onceward {
namespace {

constexpr std::chrono::milliseconds longest{300'000};
constexpr int most_doublings = 30;

}  // namespace

std::optional<std::chrono::milliseconds> MessageRetries::next(Partition partition, Offset offset) {
    if (attempts_ == 0) return std::nullopt;
    Waiting& waiting = waiting_[partition];
    if (waiting.offset != offset) waiting = {offset, 0};
    if (waiting.tried >= attempts_) return std::nullopt;
    const int doublings = std::min(waiting.tried++, most_doublings);
    const auto doubled = backoff_ * (std::int64_t{1} << doublings);
    return std::max(backoff_, std::min(doubled, longest));
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
