#pragma once
// Where a request is on its way to a sink or an upstream, and what leads from one state to another.
// docs/states.md has the meaning of each, and the diagram. Its client may have an answer already:
// the callback that a request holds is used once, at its deadline at the latest. Pure, except that
// change() writes a line to the log; thread-safe.

#include <cstdint>

#include "dedup/base/logging.h"
#include "dedup/base/state_machine.h"

namespace onceward {

enum class RequestState : std::uint8_t {
    waiting,  // another request with its key is worked on in this process
    queued,   // for a transaction, or a call
    running,
    held,     // another process works on its key; it is tried again and again
    decided,  // its outcome is final
};

enum class RequestEvent : std::uint8_t { wait, queue, take, hold, decide };

inline constexpr auto request_machine = [] {
    using enum RequestState;
    constexpr std::nullopt_t no = std::nullopt;
    return StateMachine<RequestState, RequestEvent, 5, 5>{
        {"waiting", "queued", "running", "held", "decided"},
        {{
            // waiting, queued, running, held, decided
            {"wait", {waiting, no, no, no, no}},
            {"queue", {queued, no, no, no, no}},
            {"take", {no, running, no, held, no}},
            {"hold", {no, no, held, held, no}},
            {"decide", {no, decided, decided, decided, no}},
        }}};
}();

// False, and reported, if the event must never come in that state, which stays.
inline bool change(RequestState& state, RequestEvent event) {
    if (const auto next = request_machine.after(state, event)) {
        state = *next;
        return true;
    }
    log_error("http.wrong_event",
              {{"state", request_machine.text(state)}, {"event", request_machine.text(event)}});
    return false;
}

}  // namespace onceward
