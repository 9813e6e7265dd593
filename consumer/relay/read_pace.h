#pragma once
// When the relay reads the outbox again. A read passes over each row of the keys that are under way
// or held. A million rows of one key take a second, and the thread that reads also sends. Pure: no
// clock, no I/O. Not thread-safe.

#include <algorithm>
#include <chrono>

namespace onceward {

class ReadPace {
  public:
    using Clock = std::chrono::steady_clock;
    // The pause after a read that found nothing. A read that takes as long is a long one.
    static constexpr std::chrono::milliseconds look_again{50};

    // `starved`: nothing can be sent before the next read (RelayBook::waits_for_rows()).
    bool is_due(Clock::time_point now, bool starved) const { return starved || now >= next_; }
    // A read ended. After a long one, sending gets as much time as it took.
    void ended(Clock::time_point begin, Clock::time_point end, bool found) {
        Clock::duration pause = end - begin;
        if (pause < look_again) pause = found ? Clock::duration{0} : look_again;
        // A short read that was needed at once does not end the pause of a long one.
        next_ = std::max(next_, end + pause);
    }
    void read_at(Clock::time_point now) { next_ = now; }

  private:
    Clock::time_point next_{};
};

}  // namespace onceward
