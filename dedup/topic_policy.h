#pragma once
// What a topic does with messages that cannot be applied. Plain values.

#include <chrono>
#include <cstdint>

namespace onceward {

struct RejectPolicy {
    enum class Action : std::uint8_t { dead_letter, halt } action = Action::dead_letter;
    // Beyond this share of rejected messages within `window`, and at least `cap_minimum` of them,
    // the topic halts: a bad deploy must not empty a topic into the dead letters. 1.0 never halts.
    double cap_share = 0.5;
    std::chrono::seconds cap_window{60};
    std::int64_t cap_minimum = 1000;
};

}  // namespace onceward
