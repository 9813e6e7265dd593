#pragma once
// The one place that says what a failure means. Pure; thread-safe.

#include <cstdint>
#include <string_view>

#include "dedup/postgres/error.h"

namespace onceward {

enum class FailureAction : std::uint8_t {
    retry,      // the same batch again, after a jittered backoff
    reconnect,  // a new session, fences taken again, the batch again; nothing is dead-lettered
    reject,     // a message is at fault: halve until it is alone
    stop,       // the topic pauses, which is logged; the others continue; tried again slowly
};
std::string_view to_text(FailureAction action);

// Whose statement failed. SET CONSTRAINTS and COMMIT speak for the sink: its deferred constraints
// and triggers.
enum class Origin : std::uint8_t { ours, sink };

// `earlier`: how often the same SQLSTATE came for the same work just before; some codes are only
// worth a few tries.
FailureAction classify(const PostgresError::Diagnosis& diagnosis, Origin origin, int earlier);

// Whether an error whose action is `stop` can be about one message, if the others of its batch
// pass: code of the user's own may meet a missing table or column for one row alone. False for what
// an operator repairs, and then the message passes as it is: a missing privilege (42501), a missing
// partition (23514 without a constraint), and damage inside PostgreSQL (XX).
bool may_be_about_one(const PostgresError::Diagnosis& diagnosis);

// Whether the same row may be taken later, though nothing about the message changes: what the
// user's own functions and triggers raise (P0, 38, 39, and codes of their own such as SH001), and a
// foreign key whose other row is not there yet (23503). No other rejection passes: a value that
// does not fit will never fit.
bool may_pass(std::string_view sqlstate);

}  // namespace onceward
