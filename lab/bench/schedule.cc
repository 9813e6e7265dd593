#include "lab/bench/schedule.h"

#include <algorithm>

namespace onceward::bench {

Schedule::Time Schedule::due(std::int64_t number) const {
    const std::chrono::duration<double> after(static_cast<double>(number) / rate_);
    return begin_ + std::chrono::duration_cast<Time::duration>(after);
}

std::int64_t Schedule::due_by(Time now) const {
    const std::chrono::duration<double> passed = now - begin_;
    auto count = std::max(static_cast<std::int64_t>(passed.count() * rate_), std::int64_t{0});
    // Rounding may be off by one; due() decides.
    while (count > 0 && due(count - 1) > now) --count;
    while (due(count) <= now) ++count;
    return count;
}

}  // namespace onceward::bench
