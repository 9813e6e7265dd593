#pragma once
// The pauses between tries that fail: the first pause, doubled with each failure in a row, up to
// the longest one. A random factor keeps many clients of one server from trying in step. A plain
// value with pure functions. roll() and sleep_unless() are thread-safe.

#include <chrono>
#include <stop_token>

namespace onceward {

struct Backoff {
    std::chrono::milliseconds first;
    std::chrono::milliseconds longest;
    // The pause is multiplied by a number between these two. If they are equal, nothing is random.
    double least = 1.0;
    double most = 1.0;

    // The pause after `failures` in a row, without the random factor. Zero and less count as one.
    std::chrono::milliseconds whole(int failures) const;
    // The same with the random factor. `dice`: from 0 to 1, as roll() returns it.
    std::chrono::milliseconds after(int failures, double dice) const;
};

// A random number from 0 to 1.
double roll();

// The pause, multiplied by a number from `least` to `most`, so that clients do not act in step.
// `dice`: from 0 to 1.
std::chrono::milliseconds spread(std::chrono::milliseconds pause, double least, double most,
                                 double dice);

// Sleeps for `pause`, or until a stop is requested.
void sleep_unless(const std::stop_token& stop, std::chrono::milliseconds pause);

}  // namespace onceward
