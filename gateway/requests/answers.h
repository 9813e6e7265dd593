#pragma once
// What a request is answered with, by what the ledger says of its key. Pure; thread-safe.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dedup/sink/message_result.h"
#include "gateway/checks/key_header.h"
#include "gateway/http/problem.h"

namespace onceward {

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

// `key`: as the request brought it; nullopt if the route takes it from elsewhere.
HttpResponse answer_of(KeyedAnswer answer, const std::optional<RequestKey>& key,
                       const std::string& key_header);

// Whether a header of a stored answer may be sent: none of one hop (RFC 9110, 7.6.1), no cookie,
// none that the front door writes itself, and nothing that would break the head.
bool may_replay(std::string_view name, std::string_view value);

// Makes the answer to a request of the result that a sink gave, or that was stored. A result
// without a status of its own is 422 if it failed, 204 without a body and 200 with one.
HttpResponse response_of(const MessageResult& result);

}  // namespace onceward
