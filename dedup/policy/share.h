#pragma once
// What one of several may hold of a room that all of them share. Pure.

#include <cstddef>

namespace onceward {

// The most that one of several may hold while `free` is not held. One busy one gets four fifths of
// all, two get four ninths each, and some is left even if there are many.
constexpr std::size_t share_beside(std::size_t free) { return 4 * free; }

}  // namespace onceward
