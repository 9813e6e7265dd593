#pragma once
// Random draws that are the same on every machine: std::mt19937_64 is fixed by the standard, its
// distributions are not, so none of them is used. A value; belongs to one thread.

#include <cstdint>
#include <random>
#include <span>
#include <string_view>

namespace onceward::campaign {

class Draws {
  public:
    explicit Draws(std::uint64_t seed) : seed_(seed), engine_(seed) {}
    // A stream of its own for one part of a plan: a further draw in one part moves no other part.
    Draws branch(std::string_view part) const;

    // 0 .. bound - 1; `bound` is above 0.
    std::uint64_t below(std::uint64_t bound);
    // low .. high, both included.
    std::int64_t between(std::int64_t low, std::int64_t high);
    // True for `share` of a thousand.
    bool permille(int share) { return below(1000) < static_cast<std::uint64_t>(share); }
    bool percent(int share) { return permille(share * 10); }
    // An index, each as likely as its weight; at least one weight is above 0.
    std::size_t weighted(std::span<const int> weights);

  private:
    std::uint64_t seed_;
    std::mt19937_64 engine_;
};

}  // namespace onceward::campaign
