#pragma once
// What a lease processor reports besides the outcomes of its messages. A plain value.

#include <cstdint>

namespace onceward {

enum class LeaseEvent : std::uint8_t {
    taken_over,   // a key was claimed whose owner's lease ended without a result
    lost,         // a key was taken over from this processor
    tried_again,  // an attempt failed, and will be repeated
};

}  // namespace onceward
