#pragma once
// What the bench makes of its measurements: medians, percentiles, ratios within a pair. Pure; plain
// values. std::invalid_argument where there is nothing to take it of.

#include <span>
#include <vector>

namespace onceward::bench {

struct Summary {
    double minimum = 0;
    double median = 0;
    double maximum = 0;
    friend bool operator==(const Summary&, const Summary&) = default;
};

// For an even number of values the median is the mean of the two in the middle.
Summary summarize(std::vector<double> values);

// The smallest value that at least `share` of them do not exceed (nearest rank); 0 < share <= 1.
double percentile(std::vector<double> values, double share);

// Each value by its partner, so that what the machine did meanwhile touches both alike.
// REQUIRES: as many of the one as of the other.
Summary ratio(std::span<const double> of, std::span<const double> against);

}  // namespace onceward::bench
