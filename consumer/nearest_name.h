#pragma once
// Guesses what a misspelt name was meant to be. Pure functions.

#include <string>
#include <string_view>
#include <vector>

namespace onceward {

// `; did you mean `x`?` for the nearest of `known`, '' where none is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

}  // namespace onceward
