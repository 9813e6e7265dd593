#include "lab/bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace onceward::bench {

Summary summarize(std::vector<double> values) {
    if (values.empty()) throw std::invalid_argument("nothing was measured");
    std::ranges::sort(values);
    const std::size_t middle = values.size() / 2;
    const double median =
        values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
    return {values.front(), median, values.back()};
}

double percentile(std::vector<double> values, double share) {
    if (values.empty()) throw std::invalid_argument("nothing was measured");
    std::ranges::sort(values);
    const double rank = std::ceil(share * static_cast<double>(values.size()));
    const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
    return values[std::min(index, values.size() - 1)];
}

Summary ratio(std::span<const double> of, std::span<const double> against) {
    if (of.size() != against.size()) throw std::invalid_argument("a measurement has no partner");
    std::vector<double> ratios;
    for (std::size_t i = 0; i < of.size(); ++i) ratios.push_back(of[i] / against[i]);
    return summarize(std::move(ratios));
}

}  // namespace onceward::bench
