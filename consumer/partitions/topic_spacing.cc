#include "consumer/partitions/topic_spacing.h"

#include <algorithm>

namespace onceward {
namespace {

using std::chrono::milliseconds;

constexpr int others_share = 3;
constexpr milliseconds longest_wait{30'000};

}  // namespace

TopicSpacing::Clock::time_point TopicSpacing::next_try(Clock::time_point now, Clock::duration tried,
                                                       milliseconds least) {
    const auto wait = std::clamp(std::chrono::duration_cast<milliseconds>(tried * others_share),
                                 least, std::max(least, longest_wait));
    if (tried <= long_try) return now + wait;
    const auto until = std::max(now + wait, free_from_);
    free_from_ = until + tried + wait;
    return until;
}

}  // namespace onceward
