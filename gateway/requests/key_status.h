#pragma once
// What became of a key's request, for its owner to ask without repeating it: never the stored
// answer itself. Plain values; pure.

#include <chrono>
#include <cstdint>
#include <optional>
#include <variant>

#include "gateway/http/problem.h"

namespace onceward {

struct KeyStatus {
    enum class State : std::uint8_t {
        unknown,    // nothing of it was committed, or its time is over
        in_flight,  // this process works on it, or the holder of the key's lease does
        completed,  // a repeat would get the stored answer
        // For an upstream: it may have been called, and no answer came within the lease.
        outcome_unknown,
    } state = State::unknown;
    int status = 0;  // of the stored answer
    // In flight: when its lease ends, unless it is extended.
    std::optional<std::chrono::seconds> retry_after{};
};
using StatusOutcome = std::variant<KeyStatus, Problem>;

// The answer while this process works on the key, of which nothing may be written down yet.
StatusOutcome while_running(StatusOutcome known);

// The same while this process may only be looking up a repeat of the key.
StatusOutcome while_looked_up(StatusOutcome known);

// 200 with `{"state": "completed", "status": 201}`, `{"state": "in-flight"}`, with `retry_after`
// where that is known, or `{"state": "outcome-unknown"}`; 404 where the key is not known, and a
// problem's own answer: 410 where a repeat would get it.
HttpResponse status_response(const StatusOutcome& outcome);

}  // namespace onceward
