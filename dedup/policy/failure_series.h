#pragma once
// The failures of one piece of work, one after the other: how often the same SQLSTATE came, what
// the failure means because of that, and how long to pause. A plain value of the thread that does
// the work. No I/O.

#include <chrono>
#include <string>

#include "dedup/base/backoff.h"
#include "dedup/policy/failure.h"

namespace onceward {

class FailureSeries {
  public:
    // Between tries of a statement, unless the work has reasons of its own.
    static constexpr Backoff usual{.first = std::chrono::milliseconds(50),
                                   .longest = std::chrono::milliseconds(2000),
                                   .least = 0.5};
    explicit FailureSeries(const Backoff& backoff = usual) : backoff_(backoff) {}

    // Counts the failure and returns what it means.
    FailureAction met(const PostgresError& error, Origin origin);
    // The work succeeded, or was given up: the next failure is the first one.
    void ended();
    // The SQLSTATE has not come before, as far as repeated() says; the tries still count.
    void forgive() { repeated_ = 0; }

    // How often the last SQLSTATE came directly before the last failure.
    int repeated() const { return repeated_; }
    // Failures since the beginning or the last ended().
    int failures() const { return failures_; }
    // With chance; before the next try.
    std::chrono::milliseconds pause() const { return backoff_.after(failures_, roll()); }

  private:
    Backoff backoff_;
    std::string sqlstate_;
    int repeated_ = 0;
    int failures_ = 0;
};

// What a failure of a statement of our own means that is not one of a series.
FailureAction meaning_of(const PostgresError& error, Origin origin = Origin::ours);

}  // namespace onceward
