#include "gateway/http/problem.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "gateway/problem_texts.h"

namespace onceward {
namespace {

struct Entry {
    ProblemKind kind;
    int status;
    std::string_view name;
    std::string_view title;
};

using enum ProblemKind;
constexpr std::array entries{
    Entry{malformed_request, 400, "malformed-request", "The request is not well formed"},
    Entry{key_missing, 400, "key-missing", "The idempotency key is missing"},
    Entry{key_malformed, 400, "key-malformed", "The idempotency key is not valid"},
    Entry{key_not_expected, 400, "key-not-expected", "This operation takes no idempotency key"},
    Entry{tenant_missing, 400, "tenant-missing", "The tenant is missing"},
    Entry{token_missing, 401, "token-missing", "A bearer token is needed"},
    Entry{token_refused, 401, "token-refused", "The bearer token is not accepted"},
    Entry{signature_refused, 401, "signature-refused", "The signature is not accepted"},
    Entry{not_found, 404, "not-found", "There is no such route"},
    Entry{key_unknown, 404, "key-unknown", "No request with this idempotency key is known"},
    Entry{method_not_allowed, 405, "method-not-allowed", "The route has no such method"},
    Entry{request_timeout, 408, "request-timeout", "The request took too long to arrive"},
    Entry{key_in_flight, 409, "key-in-flight",
          "A request with this idempotency key is still being processed"},
    Entry{outcome_unknown, 409, "outcome-unknown",
          "Whether the request with this idempotency key took effect is not known"},
    Entry{answer_gone, 410, "answer-gone", "It was carried out; its answer is no longer kept"},
    Entry{key_expired, 412, "key-expired", "The idempotency key is too old to be judged"},
    Entry{body_too_large, 413, "body-too-large", "The body is too large"},
    Entry{key_reused, 422, "key-reused",
          "The idempotency key was used before with another request"},
    Entry{rejected, 422, "rejected", "The request cannot be applied"},
    Entry{too_many_requests, 429, "too-many-requests", "Too many requests"},
    Entry{headers_too_large, 431, "headers-too-large", "The header fields are too large"},
    Entry{internal, 500, "internal", "Internal error"},
    Entry{coding_unknown, 501, "coding-unknown", "The transfer coding is not supported"},
    Entry{upstream_unreachable, 502, "upstream-unreachable", "The service cannot be reached"},
    Entry{unavailable, 503, "unavailable", "Not available now; try again with the same key"},
    Entry{upstream_unanswered, 504, "upstream-unanswered", "The service did not answer"},
    Entry{version_unknown, 505, "version-unknown", "This version of HTTP is not supported"},
};

const Entry& entry_of(ProblemKind kind) { return *std::ranges::find(entries, kind, &Entry::kind); }

constexpr auto kinds = [] {
    std::array<ProblemKind, entries.size()> all{};
    for (std::size_t i = 0; i < entries.size(); ++i) all[i] = entries[i].kind;
    return all;
}();
static_assert(entries.size() == static_cast<std::size_t>(version_unknown) + 1,
              "each kind has its entry");

// The text from its heading to the next one; '' if there is no such section.
std::string_view section_of(std::string_view name) {
    const std::string_view whole = problem_texts::problems;
    const std::size_t begin = whole.find("\n## " + std::string(name) + "\n");
    if (begin == std::string_view::npos) return {};
    const std::string_view rest = whole.substr(begin + 1);
    const std::size_t end = rest.find("\n## ");
    return end == std::string_view::npos ? rest : rest.substr(0, end + 1);
}

}  // namespace

int status_of(ProblemKind kind) { return entry_of(kind).status; }

std::string type_of(ProblemKind kind) {
    return std::string(problem_path) + std::string(entry_of(kind).name);
}

std::string_view title_of(ProblemKind kind) { return entry_of(kind).title; }

std::span<const ProblemKind> all_problems() { return kinds; }

Problem ask_again_soon() {
    return {.kind = unavailable, .detail = {}, .retry_after = std::chrono::seconds(1)};
}

Problem ask_again_later() {
    return {.kind = unavailable, .detail = {}, .retry_after = std::chrono::seconds(5)};
}

HttpResponse to_response(const Problem& problem) {
    nlohmann::ordered_json body = {{"type", type_of(problem.kind)},
                                   {"title", title_of(problem.kind)},
                                   {"status", status_of(problem.kind)}};
    if (!problem.detail.empty()) body["detail"] = problem.detail;
    HttpResponse response;
    response.status = status_of(problem.kind);
    response.headers = problem.headers;
    response.headers.emplace_back("Content-Type", "application/problem+json");
    // A cache must not answer the next request with it.
    response.headers.emplace_back("Cache-Control", "no-store");
    if (problem.retry_after) {
        response.headers.emplace_back("Retry-After", std::to_string(problem.retry_after->count()));
    }
    // The detail may contain what a client has sent, and that may not be UTF-8.
    response.body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return response;
}

std::optional<HttpResponse> problem_page(const HttpRequest& request) {
    if (request.method != "GET" && request.method != "HEAD") return std::nullopt;
    std::string_view path = path_of(request.target);
    if (!path.starts_with(problem_path)) return std::nullopt;
    path.remove_prefix(problem_path.size());
    const std::string_view text = path.empty() ? problem_texts::problems : section_of(path);
    if (text.empty()) return std::nullopt;
    return HttpResponse{.status = 200,
                        .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                        .body = std::string(text)};
}

}  // namespace onceward
