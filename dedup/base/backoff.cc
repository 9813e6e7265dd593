#include "dedup/base/backoff.h"

#include <algorithm>
#include <cstdint>
#include <random>

namespace onceward {
namespace {

constexpr int most_doublings = 30;

}  // namespace

std::chrono::milliseconds Backoff::whole(int failures) const {
    const int doublings = std::clamp(failures - 1, 0, most_doublings);
    // The longest is divided, so that nothing overflows.
    const std::int64_t times = std::int64_t{1} << doublings;
    return first.count() > longest.count() / times ? longest : first * times;
}

std::chrono::milliseconds Backoff::after(int failures, double dice) const {
    const double share = least + (most - least) * dice;
    return std::chrono::milliseconds(
        static_cast<std::int64_t>(static_cast<double>(whole(failures).count()) * share));
}

double roll() {
    thread_local std::mt19937_64 random{std::random_device{}()};
    return std::uniform_real_distribution<double>(0.0, 1.0)(random);
}

}  // namespace onceward
