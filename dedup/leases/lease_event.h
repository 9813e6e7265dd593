#pragma once
// What a lease processor reports besides the outcomes of its messages. A plain value.

#include <cstdint>

namespace onceward {

enum class LeaseEvent : std::uint8_t {
    taken_over,   // a key was claimed whose owner's lease had ended without a word
    lost,         // a key was taken over from this processor
    tried_again,  // a try did not get through, and is to be made again
};

}  // namespace onceward
