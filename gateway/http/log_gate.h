#pragma once
// Lets one line of a kind into the log every ten seconds, however often it would be written.
// Thread-safe.

#include <chrono>
#include <cstdint>
#include <optional>

#include "dedup/base/mutex.h"

namespace onceward {

class LogGate {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds every{10};
    // How many lines were kept back since the last one; nullopt: this one is kept back too.
    std::optional<std::int64_t> pass(Clock::time_point now = Clock::now()) {
        const MutexLock lock(mutex_);
        if (next_ && now < *next_) {
            ++kept_back_;
            return std::nullopt;
        }
        next_ = now + every;
        const std::int64_t kept_back = kept_back_;
        kept_back_ = 0;
        return kept_back;
    }

  private:
    Mutex mutex_;
    std::optional<Clock::time_point> next_ ONCEWARD_GUARDED_BY(mutex_);
    std::int64_t kept_back_ ONCEWARD_GUARDED_BY(mutex_) = 0;
};

}  // namespace onceward
