#pragma once
// What a soak's topic holds: message number -> key, payload, partition. One of ten messages repeats
// the key of an earlier one, at random within `reach` messages before it. Pure, so that a row says
// by its number alone whether it should be there.

#include <chrono>
#include <cstdint>
#include <string>

#include "dedup/base/types.h"

namespace onceward::soak {

inline constexpr int partitions = 4;

class Messages {
  public:
    // `reach` is at least 1000.
    explicit Messages(std::int64_t reach) : reach_(reach) {}
    // The message whose key this one has: itself, unless it is a repeat.
    std::int64_t original(std::int64_t number) const;
    bool is_repeat(std::int64_t number) const { return original(number) != number; }

  private:
    std::int64_t reach_;
};

// A UUID, of a message that is no repeat.
std::string key_of(std::int64_t original);
// JSON of 374 bytes.
std::string payload(std::int64_t original, std::chrono::system_clock::time_point created_at);
Partition partition_of(std::int64_t number);

}  // namespace onceward::soak
