#pragma once
// What the front door refuses, as problem details (RFC 9457): a stable `type` for each kind, which
// clients may compare, and a sentence for people. Nothing internal is shown: no SQLSTATE, no table,
// no text of an exception. Pure; thread-safe.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gateway/http/http.h"

namespace onceward {

enum class ProblemKind : std::uint8_t {
    malformed_request,
    key_missing,
    key_malformed,
    key_not_expected,
    tenant_missing,
    token_missing,
    token_refused,
    signature_refused,
    not_found,
    key_unknown,  // asked for its status
    method_not_allowed,
    request_timeout,
    key_in_flight,  // the first attempt still runs
    answer_gone,    // the key's request took effect; its answer is kept no longer
    key_expired,    // minted before the ledger's memory begins
    body_too_large,
    key_reused,  // for something else: another fingerprint
    rejected,    // what the request carries can not be applied
    too_many_requests,
    headers_too_large,
    outcome_unknown,       // an upstream's answer was lost, and the call must not be repeated
    upstream_unreachable,  // nothing of the request was sent
    upstream_unanswered,   // it was sent; whether it took effect is not known
    unavailable,           // try again, with the same key
    internal,
    coding_unknown,   // a transfer coding other than chunked
    version_unknown,  // of HTTP
};

struct Problem {
    ProblemKind kind = ProblemKind::internal;
    std::string detail{};  // a sentence for the client; may be ''
    std::optional<std::chrono::seconds> retry_after{};
    HttpHeaders headers{};  // in addition to those of the problem itself
};

int status_of(ProblemKind kind);
// `/onceward/problems/key-missing`; never changes.
std::string type_of(ProblemKind kind);
// What each type begins with; the rest is its name. The front door serves a page there.
inline constexpr std::string_view problem_path = "/onceward/problems/";
std::string_view title_of(ProblemKind kind);
// All of them, for documentation.
std::span<const ProblemKind> all_problems();

// Both are ProblemKind::unavailable. Soon: the cause passes by itself within moments. Later: it
// passes only when somebody acts.
Problem ask_again_soon();
Problem ask_again_later();

HttpResponse to_response(const Problem& problem);

// The pages that the types of problems lead to: the sections of docs/problems.md.
// Returns nullopt if the request does not ask for the page of a problem.
std::optional<HttpResponse> problem_page(const HttpRequest& request);

}  // namespace onceward
