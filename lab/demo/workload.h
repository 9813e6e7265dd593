#pragma once
// What the demo produces: payments and orders, of which a part carries a key that was produced
// before. The same seed and number make the same messages in the same order. Used by one thread;
// throws only std::bad_alloc.

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "dedup/base/types.h"
#include "dedup/message/digest.h"

namespace onceward::demo {

// In the order of the `topic` column of schemas/queries/demo/demo_applied.sql.
enum class Topic : std::uint8_t { payments, orders };
inline constexpr std::array<Topic, 2> topics{Topic::payments, Topic::orders};
std::string name_of(Topic topic);

inline constexpr std::int32_t partitions_per_topic = 4;

// A key and how many messages carried it.
struct ProducedKey {
    Topic topic = Topic::payments;
    Digest key;  // a UUID
    std::int32_t messages = 0;
};

struct DemoMessage {
    Topic topic = Topic::payments;
    Partition partition;
    Digest key;
    std::string json;  // the payload; a repeat has its original's
};

class Workload {
  public:
    // A quarter of the messages, rounded down, carries a key produced before: half of these one of
    // the last few, so that they meet in flight, half any one; each in a partition by chance.
    Workload(std::uint64_t seed, std::int64_t messages);
    std::int64_t messages() const { return messages_; }
    // REQUIRES: fewer than messages() were taken.
    DemoMessage next();
    // What next() has given out so far, each key once.
    const std::vector<ProducedKey>& produced() const { return produced_; }

  private:
    std::size_t pick_earlier();
    std::mt19937_64 random_;
    std::int64_t messages_;
    std::int64_t taken_ = 0;
    std::int64_t repeats_left_;
    std::vector<ProducedKey> produced_;
};

}  // namespace onceward::demo
