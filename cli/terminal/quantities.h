#pragma once
// Amounts as a reader wants them, rounded: sizes, ages, counts. Pure; thread-safe. For exact
// texts that can be read back see cli/configuration/units.h.

#include <chrono>
#include <string>

namespace onceward {

// `90 B`, `1.5 GiB`.
std::string bytes_text(double bytes);
// `12 s`, `3 min`, `2 h`, `4 d`: one unit is enough.
std::string age_text(std::chrono::seconds age);
// `640`, `97.2 million`.
std::string count_text(double count);
// Three digits of it.
std::string short_number(double value);

}  // namespace onceward
