#pragma once
// Guesses what a misspelt name was meant to be. Pure functions.

#include <string>
#include <string_view>
#include <vector>

namespace onceward {

// Returns `; did you mean `x`?` for the nearest of `known`, '' if none is near. Upper and lower
// case count as the same.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

}  // namespace onceward
