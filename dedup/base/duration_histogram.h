#pragma once
// A histogram of how long something took: the count for each bound, and the sum. A plain value
// that only grows; not thread-safe. Bounds: a type with `seconds`, an ascending array of bounds.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace onceward {

template <class Bounds>
struct DurationHistogram {
    static constexpr auto bounds = Bounds::seconds;
    std::array<std::int64_t, bounds.size() + 1> counts{};  // the last one: longer than all bounds
    double sum = 0;                                        // seconds

    void observe(double seconds, std::int64_t times = 1) {
        const auto bound = std::ranges::lower_bound(bounds, seconds);
        counts[static_cast<std::size_t>(bound - bounds.begin())] += times;
        sum += seconds * static_cast<double>(times);
    }
    DurationHistogram& operator+=(const DurationHistogram& other) {
        for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
        sum += other.sum;
        return *this;
    }
};

}  // namespace onceward
