#pragma once
// How many requests the next transaction of a route takes. It depends on how long the last ones
// took: if a batch is too slow, none of its requests is answered in time. Pure; not thread-safe.

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace onceward {

class BatchSize {
  public:
    // `most`: the limit at any speed. `wanted`: roughly how long a batch may take.
    BatchSize(std::size_t most, std::chrono::milliseconds wanted)
        : most_(std::max<std::size_t>(most, 1)), wanted_(wanted), size_(std::min(most_, first)) {}
    std::size_t next() const { return size_; }
    void took(std::size_t requests, std::chrono::steady_clock::duration time) {
        if (requests == 0) return;
        const double share = std::chrono::duration<double>(wanted_) /
                             std::max(std::chrono::duration<double>(time), shortest);
        const double fits = std::max(1.0, static_cast<double>(requests) * share);
        // A fast small batch says little about a much larger one.
        const auto grown = static_cast<double>(std::min(most_, growth * size_));
        if (share >= 1.0) {
            size_ = static_cast<std::size_t>(std::clamp(fits, static_cast<double>(size_), grown));
        } else {
            size_ = static_cast<std::size_t>(std::min(fits, static_cast<double>(size_)));
        }
    }

  private:
    static constexpr std::size_t first = 16;  // before anything was measured
    static constexpr std::size_t growth = 4;
    static constexpr std::chrono::duration<double> shortest{1e-6};
    std::size_t most_;
    std::chrono::milliseconds wanted_;
    std::size_t size_;
};

}  // namespace onceward
