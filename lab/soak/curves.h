#pragma once
// What a soak writes down: its curves, each with what "flat" means for it, and the samples as CSV.
// Pure; plain values. Text that is no such CSV is a std::runtime_error.

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace onceward::soak {

inline constexpr double unbounded = std::numeric_limits<double>::infinity();

struct Curve {
    std::string_view name;   // the column
    std::string_view title;  // with its unit
    // The median of the run's last quarter may exceed that of its second quarter by this share, and
    // by this much besides, as a curve near 0 doubles easily.
    double growth = 0;
    double slack = 0;
    // No value after the warm-up may exceed it.
    double bound = unbounded;
};

// In the order of the columns.
std::span<const Curve> curves();

struct Sample {
    double seconds = 0;          // since the first message
    std::vector<double> values;  // one for each curve
};

struct Series {
    // What the run was: rate, commit, machine, the count at the end; in the CSV's head.
    std::vector<std::pair<std::string, std::string>> facts;
    std::vector<Sample> samples;
};

std::string as_csv(const Series& series);
Series from_csv(const std::string& text);

}  // namespace onceward::soak
