#pragma once
// Texts as YAML scalars, for the files that this program writes or prints: configurations and their
// tests. What a text holds cannot end its line, add a key, or reach a terminal as
// anything but text. Pure; thread-safe.

#include <string>

namespace onceward {

// For a reader that takes each plain scalar for a text, except null: numbers stay plain, as people
// write them, and what would mean something else is in quotes. REQUIRES: UTF-8.
std::string yaml_scalar(const std::string& text);

// The same for a text that no reader may take for a number, a truth or a date.
std::string yaml_text(const std::string& text);

// yaml_text() of what an option is to get as it is: a `$` in it begins no variable.
std::string yaml_value(const std::string& text);

}  // namespace onceward
