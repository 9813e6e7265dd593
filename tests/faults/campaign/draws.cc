#include "tests/faults/campaign/draws.h"

#include <limits>
#include <numeric>

namespace onceward::campaign {

Draws Draws::branch(std::string_view part) const {
    // FNV-1a over the part's name: std::hash differs between libraries.
    std::uint64_t mixed = 14695981039346656037ULL ^ seed_;
    for (const char character : part)
        mixed = (mixed ^ static_cast<unsigned char>(character)) * 1099511628211ULL;
    return Draws(mixed);
}

std::uint64_t Draws::below(std::uint64_t bound) {
    // What lies above the last whole multiple of the bound is drawn again: no value is likelier.
    constexpr std::uint64_t top = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t limit = top - top % bound;
    std::uint64_t drawn = engine_();
    while (drawn >= limit) drawn = engine_();
    return drawn % bound;
}

std::int64_t Draws::between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
}

std::size_t Draws::weighted(std::span<const int> weights) {
    const int total = std::accumulate(weights.begin(), weights.end(), 0);
    auto left = static_cast<int>(below(static_cast<std::uint64_t>(total)));
    std::size_t index = 0;
    while (left >= weights[index]) left -= weights[index++];
    return index;
}

}  // namespace onceward::campaign
