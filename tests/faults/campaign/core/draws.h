#pragma once
// Random draws that are the same on every machine: the standard's distributions are not. A plain
// value; not thread-safe.

#include <cstdint>
#include <random>

namespace onceward::campaign::core {

class Draws {
  public:
    explicit Draws(std::uint64_t seed) : random_(seed) {}
    // 0 .. limit - 1. REQUIRES: limit > 0. The bias of the remainder is far below what matters.
    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
    int between(int least, int most) {
        return least + static_cast<int>(below(static_cast<std::uint64_t>(most - least) + 1));
    }
    bool percent(int share) { return below(100) < static_cast<std::uint64_t>(share); }
    // Small numbers often, large ones seldom: the product of two even draws.
    std::uint64_t skewed(std::uint64_t limit) {
        const std::uint64_t first = below(limit);
        return first == 0 ? 0 : below(first + 1);
    }

  private:
    std::mt19937_64 random_;
};

}  // namespace onceward::campaign::core
