#pragma once
// What becomes of the digits that a column's type cannot keep. Plain value.

#include <cstdint>

namespace onceward {

enum class Lossy : std::uint8_t {
    refuse,    // the value does not fit
    round,     // as PostgreSQL rounds it: a number half away from zero
    truncate,  // a number towards zero, a time to the one before it
};

}  // namespace onceward
