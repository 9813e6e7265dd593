#pragma once
// Strong types for the numbers and names that must never be mixed up.
// Plain values: freely copied, no locking needed, no errors. Conversion is explicit both ways.

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace onceward {

template <class Tag, class Raw>
class Strong {
  public:
    using raw_type = Raw;
    constexpr Strong() = default;
    constexpr explicit Strong(Raw raw) : raw_(raw) {}
    constexpr Raw raw() const { return raw_; }
    friend constexpr auto operator<=>(Strong, Strong) = default;

  private:
    Raw raw_{};
};

using Partition = Strong<struct PartitionTag, std::int32_t>;
using Offset = Strong<struct OffsetTag, std::int64_t>;
// Counts the take-overs of a fence row. A number for people: after a fail-over two owners may hold
// the same one.
using Epoch = Strong<struct EpochTag, std::int64_t>;
// The epoch of a Kafka partition's leader (KIP-101); -1 if the broker gave none.
using LeaderEpoch = Strong<struct LeaderEpochTag, std::int32_t>;

// The offset that a reader asks for after `offset`. The only place that adds one to an offset.
constexpr Offset next(Offset offset) { return Offset{offset.raw() + 1}; }

struct TopicPartition {
    std::string topic;
    Partition partition;
    friend auto operator<=>(const TopicPartition&, const TopicPartition&) = default;
};

// By the system's clock: since 1970-01-01 UTC.
template <class Unit>
Unit since_1970() {
    return std::chrono::duration_cast<Unit>(std::chrono::system_clock::now().time_since_epoch());
}

}  // namespace onceward

template <class Tag, class Raw>
struct std::hash<onceward::Strong<Tag, Raw>> {
    std::size_t operator()(onceward::Strong<Tag, Raw> value) const noexcept {
        return std::hash<Raw>{}(value.raw());
    }
};
