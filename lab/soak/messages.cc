#include "lab/soak/messages.h"

#include <algorithm>
#include <utility>

#include "dedup/base/iso_time.h"
#include "dedup/message/digest.h"
#include "lab/bench/workload.h"

namespace onceward::soak {
namespace {

constexpr std::uint64_t every = 10;
constexpr std::int64_t first_repeat = 100;

bool repeats(std::int64_t number) {
    return number >= first_repeat && bench::mix(static_cast<std::uint64_t>(number)) % every == 0;
}

}  // namespace

std::int64_t Messages::original(std::int64_t number) const {
    if (!repeats(number)) return number;
    const auto reach = static_cast<std::uint64_t>(std::min(number, reach_));
    auto at = number - 1 -
              static_cast<std::int64_t>(bench::mix(static_cast<std::uint64_t>(~number)) % reach);
    // The first ones are no repeats, so that this ends.
    while (repeats(at)) --at;
    return at;
}

std::string key_of(std::int64_t original) {
    return uuid_text(digest_of_bytes("soak/" + std::to_string(original)));
}

std::string payload(std::int64_t original, std::chrono::system_clock::time_point created_at) {
    const auto time =
        std::chrono::duration_cast<std::chrono::microseconds>(created_at.time_since_epoch());
    const std::string number = std::to_string(original);
    std::string text = R"({"event_id":")" + key_of(original) + R"(","number":)" + number +
                       R"(,"account":"account-)" + std::to_string(original % 10'000) +
                       R"(","currency":"EUR","created_at":")" + iso_text(time) + '"';
    return bench::filled_up(std::move(text));
}

// At random, so that a key and its repeat are in two partitions as often as in one.
Partition partition_of(std::int64_t number) {
    return Partition{static_cast<std::int32_t>(bench::mix(static_cast<std::uint64_t>(number) << 1) %
                                               partitions)};
}

}  // namespace onceward::soak
