#pragma once
// How far two names are apart, for messages that guess what a misspelt one was meant to be.
// Pure and thread-safe; throws only std::bad_alloc.

#include <cstddef>
#include <string_view>

namespace onceward {

// Levenshtein's distance: how many bytes must be put in, taken out or changed.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace onceward
