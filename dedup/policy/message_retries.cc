#include "dedup/policy/message_retries.h"

#include <algorithm>

#include "dedup/base/backoff.h"

namespace onceward {
namespace {

constexpr std::chrono::milliseconds longest{300'000};

}  // namespace

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
