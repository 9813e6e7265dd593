#include "cli/terminal/quantities.h"

#include <array>
#include <cstdio>

namespace onceward {
namespace {

template <class... Values>
std::string printed(const char* format, Values... values) {
    std::array<char, 64> room{};
    std::snprintf(room.data(), room.size(), format, values...);
    return room.data();
}

}  // namespace

std::string bytes_text(double bytes) {
    constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < units.size()) {
        bytes /= 1024;
        ++unit;
    }
    return printed(unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

std::string age_text(std::chrono::seconds age) {
    const std::int64_t count = age.count();
    if (count < 120) return std::to_string(count) + " s";
    if (count < 7200) return std::to_string(count / 60) + " min";
    if (count < 172800) return std::to_string(count / 3600) + " h";
    return std::to_string(count / 86400) + " d";
}

std::string count_text(double count) {
    if (count >= 1e6) return short_number(count / 1e6) + " million";
    return printed(count < 10 ? "%.3g" : "%.0f", count);
}

std::string short_number(double value) {
    return printed(value < 999.5 ? "%.3g" : "%.0f", value);  // not 1e+03
}

}  // namespace onceward
