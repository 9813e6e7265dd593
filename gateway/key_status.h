#pragma once
// What became of a key's request, for its owner to ask without repeating it: never the stored
// answer itself. Plain values; pure.

#include <cstdint>
#include <variant>

#include "gateway/problem.h"

namespace onceward {

struct KeyStatus {
    enum class State : std::uint8_t {
        unknown,    // nothing of it was committed, or its time is over
        in_flight,  // this process is at it
        completed,  // a repeat would get the stored answer
    } state = State::unknown;
    int status = 0;  // of the stored answer
};
using StatusOutcome = std::variant<KeyStatus, Problem>;

// 200 with `{"state": "completed", "status": 201}` or `{"state": "in-flight"}`; 404 where the key
// is not known.
HttpResponse status_response(const StatusOutcome& outcome);

}  // namespace onceward
