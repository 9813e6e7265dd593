#pragma once
// Guesses what a misspelt name was meant to be. Pure; thread-safe; throws only
// std::bad_alloc.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace onceward {

// Levenshtein's distance: how many bytes must be put in, taken out or changed.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `known`, or else the only one that begins with the name; '' if there is none.
// Upper and lower case count as the same.
std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

// Returns `; did you mean `x`?` for the nearest of `known`, '' if none is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

}  // namespace onceward
