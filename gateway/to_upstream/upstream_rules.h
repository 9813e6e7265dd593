#pragma once
// What a route to an upstream decides without I/O: which requests and headers are forwarded, what a
// call's end means, and what becomes of the key. Pure; thread-safe.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dedup/leases/leases.h"
#include "dedup/sink/effects.h"
#include "gateway/requests/keyed_request.h"
#include "gateway/requests/route_options.h"

namespace onceward {

struct UpstreamCall {
    std::string method;
    std::string target;   // path and query, to be appended to the upstream's address
    HttpHeaders headers;  // those of the client that are forwarded
    std::string body;
    Digest key;  // what the downstream key is derived from: the same for each try
};

using UpstreamAnswer = HttpAnswer;

// How an upstream is called. The gateway knows no HTTP client: the composition root makes this from
// the webhook's client. Used by one thread. The answer says what the other side did, and comes
// within the upstream's time-out. Until then the client calls `meanwhile` each time that `every`
// has passed. If the client refuses the call, it was not sent, and that is an answer too.
using UpstreamClient = std::function<UpstreamAnswer(
    UpstreamCall call, std::chrono::milliseconds every, const std::function<void()>& meanwhile)>;

// How a call ended, as far as its effect goes.
enum class CallEnd : std::uint8_t {
    final_answer,  // 2xx, 3xx, and 4xx other than 408, 425 and 429
    turned_down,   // the upstream says that it may be tried again: see UpstreamTarget::free_on
    never_sent,    // no byte of the request left
    in_doubt,      // another failure, such as 500 or 504: it may have taken effect all the same
    unknown,       // it was sent, and no whole answer came
};
CallEnd end_of(const UpstreamAnswer& answer, const UpstreamTarget& upstream);

// What becomes of the key after the call.
enum class KeyFate : std::uint8_t {
    stored,    // with the answer, which is replayed
    released,  // the next request with it calls again, at once
    held,      // until the lease's end
};
KeyFate fate_of(CallEnd end, const UpstreamTarget& upstream);

// The answer to a request that does not own its key; `stored`: the stored answer of that key.
KeyedOutcome outcome_of(const LeaseAnswer& answer, const UpstreamTarget& upstream,
                        const std::optional<MessageResult>& stored);

// A key's lease, as a status query finds it.
struct LeaseSeen {
    bool in_flight = false;             // it has no end yet
    std::chrono::milliseconds left{0};  // of the lease
    int status = 0;                     // of the answer, if it has an end
};
KeyStatus status_of_lease(const LeaseSeen& lease);

// The result to store for a call. REQUIRES: the call's end is final_answer.
MessageResult result_of(UpstreamAnswer answer, const ResultLimits& limits);
// The answer to a request whose result is not stored. `lease`: how long a held key's lease lasts.
KeyedOutcome passed_on(UpstreamAnswer answer, const UpstreamTarget& upstream,
                       const ResultLimits& limits, std::chrono::milliseconds lease);
// The answer to a request without a key: nothing of it is stored, however the call ended.
KeyedOutcome passed_on_without_key(UpstreamAnswer answer, const ResultLimits& limits);

// The headers of the request that are forwarded to the upstream: none that is never forwarded
// (dedup/sink/http_header_rules.h), none whose name the upstream may take for another's (`X_Tenant`
// and `X-Tenant`), no key, and no credentials except those in `named`.
HttpHeaders forwarded_headers(const HttpHeaders& headers, const std::string& key_header,
                              std::span<const std::string> named);

// Whether an upstream reads the target as the route's pattern did. It must be a path, only its last
// part may be empty, and no part may be `.` or `..`, or have a slash, a backslash or a control
// character: neither plainly, nor percent-encoded, nor encoded twice.
bool may_be_forwarded(std::string_view target);

}  // namespace onceward
