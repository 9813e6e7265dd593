#pragma once
// The answers to requests, depending on what the ledger knows of a key. Pure; thread-safe.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "dedup/sink/message_result.h"
#include "gateway/checks/key_header.h"
#include "gateway/http/problem.h"

namespace onceward {

// A deadline that never comes: in a hundred years, which still fits into the times of any clock.
inline constexpr std::chrono::steady_clock::time_point never{std::chrono::hours(876'000)};

// What became of a request that has a key.
enum class KeyState : std::uint8_t {
    fresh,      // carried out, just now
    replayed,   // carried out before; this is that answer again
    in_flight,  // the first attempt still runs
    conflict,   // the key was used for something else
};

struct KeyedAnswer {
    KeyState state = KeyState::fresh;
    HttpResponse result{};  // of fresh and replayed ones
    // In flight: when it is worth asking again.
    std::chrono::seconds retry_after{1};
};

// The headers that the front door writes itself. They are removed from stored answers.
struct OwnHeaders {
    std::string key = "Idempotency-Key";
    std::string replay = "Idempotent-Replayed";  // `true` on what is replayed
    std::string window{};  // for how many seconds the key is known; '': none
    std::chrono::seconds known{0};
};
HttpResponse answer_of(KeyedAnswer answer, const OwnHeaders& own);

// Whether a header of a stored answer may be sent. Headers of one hop (RFC 9110, 7.6.1), cookies,
// `Date`, `Idempotent-Replayed` and what would break the head may not. answer_of() also removes
// those that OwnHeaders names.
bool may_replay(std::string_view name, std::string_view value);

// Makes the answer to a request from the result that a sink gave, or that was stored. A result
// without a status of its own is 422 if it failed, 204 without a body and 200 with one.
HttpResponse response_of(const MessageResult& result);

// What became of a key's request. Its owner can query this without repeating the request; it never
// contains the stored answer itself.
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

// The status while this process works on the key. Nothing of it may be stored yet, so any state but
// in flight and completed becomes in flight.
StatusOutcome while_running(StatusOutcome known);

// The same while this process may only be looking up a repeat of the key: only `unknown` changes.
StatusOutcome while_looked_up(StatusOutcome known);

// 200 with `{"state": "completed", "status": 201}`, `{"state": "in-flight"}`, with `retry_after` if
// that is known, or `{"state": "outcome-unknown"}`. 404 if the key is not known. A problem gets its
// own answer, such as 410 if a repeat would get that.
HttpResponse status_response(const StatusOutcome& outcome);

}  // namespace onceward
