#pragma once
// When a topic in trouble may be tried again. A worker's topics share one writer, and a try that
// waits for a lock holds up all of them. So the topic waits three times as long as its try took,
// and two topics in trouble never take their tries one right after the other: the topics in good
// health have three quarters of the time, however many are in trouble. Pure; one thread.

#include <chrono>

namespace onceward {

class TopicSpacing {
  public:
    using Clock = std::chrono::steady_clock;

    // `tried`: how long the failed try took. `least`: the shortest wait. The wait itself is at most
    // thirty seconds; long tries of other topics may be put before it.
    Clock::time_point next_try(Clock::time_point now, Clock::duration tried,
                               std::chrono::milliseconds least);

  private:
    // Before that moment no other topic whose last try was long may be tried.
    Clock::time_point free_from_{};
};

// A try that took longer than this is one that holds up the other topics.
constexpr std::chrono::milliseconds long_try{1000};

}  // namespace onceward
