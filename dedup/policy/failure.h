#pragma once
// The one place that says what a failure means. Pure; thread-safe.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "dedup/base/backoff.h"
#include "dedup/postgres/error.h"

namespace onceward {

enum class FailureAction : std::uint8_t {
    retry,      // the same batch again, after a jittered backoff
    reconnect,  // a new session, fences taken again, the batch again; nothing is dead-lettered
    reject,     // a message is at fault: search for it
    stop,       // the topic halts, which is logged; the others continue; tried again slowly
};

// Whose statement failed. SET CONSTRAINTS and COMMIT count as the sink's statements: they run its
// deferred constraints and triggers.
enum class Origin : std::uint8_t { ours, sink };

// Whether a RAISE of the user's own code made the error. Such a code says what the user chose:
// 55P03 is not a lock, for example.
bool is_raised(const PostgresError::Diagnosis& diagnosis);

// `earlier`: how often the same SQLSTATE came for the same work just before; some codes are only
// worth a few tries.
FailureAction classify(const PostgresError::Diagnosis& diagnosis, Origin origin, int earlier);

// Whether an error whose action is `stop` can be about one message, if the others of its batch
// pass: the user's own code may meet a missing table or column for a single row. False for what an
// operator repairs, after which the message passes unchanged: a missing privilege (42501), a
// missing partition (23514 without a constraint), and damage inside PostgreSQL (XX).
bool may_be_about_one(const PostgresError::Diagnosis& diagnosis);

// Whether the same row may be accepted later, though nothing about the message changes: what the
// user's own functions and triggers raise (P0, 38, 39, and codes of their own such as SH001), and a
// foreign key whose other row is not there yet (23503). No other rejection passes: a value that
// does not fit will never fit.
bool may_pass(std::string_view sqlstate);

// The failures of one piece of work, one after the other: how often the same SQLSTATE came, what
// the failure means because of that, and how long to pause. A plain value of the thread that does
// the work. No I/O.
class FailureSeries {
  public:
    // The pauses between tries of a statement, unless the work has reasons for others.
    static constexpr Backoff usual{.first = std::chrono::milliseconds(50),
                                   .longest = std::chrono::milliseconds(2000),
                                   .least = 0.5};
    explicit FailureSeries(const Backoff& backoff = usual) : backoff_(backoff) {}

    // Counts the failure and returns what it means.
    FailureAction met(const PostgresError& error, Origin origin);
    // The work succeeded, or was given up: the next failure is the first one.
    void ended();
    // Sets repeated() to 0, as if the SQLSTATE had not come before; the tries still count.
    void forgive() { repeated_ = 0; }

    // How often the last SQLSTATE, raised by the user or not, came directly before the last
    // failure.
    int repeated() const { return repeated_; }
    // Failures since the beginning or the last ended().
    int failures() const { return failures_; }
    // The pause before the next try, with a random factor.
    std::chrono::milliseconds pause() const { return backoff_.after(failures_, roll()); }

  private:
    Backoff backoff_;
    std::string sqlstate_;
    bool raised_ = false;  // by the user's own code
    int repeated_ = 0;
    int failures_ = 0;
};

// What a failure means that is not one of a series; by default of a statement of our own.
FailureAction meaning_of(const PostgresError& error, Origin origin = Origin::ours);

}  // namespace onceward
