#include "gateway/answers.h"

#include <algorithm>
#include <array>

namespace onceward {
namespace {

using Before = DraftCase::Before;
using Sent = DraftCase::Sent;

constexpr std::array cases{
    DraftCase{"first request", Before::nothing, Sent::key, true, 0, "", false, true},
    DraftCase{"retry after success", Before::completed, Sent::key, true, 0, "", true, false},
    DraftCase{"retry after a final failure", Before::completed_as_failure, Sent::key, true, 0, "",
              true, false},
    DraftCase{"retry while the first runs", Before::in_flight, Sent::key, true, 409,
              "urn:onceward:problem:key-in-flight", false, false},
    DraftCase{"key reused with another payload", Before::completed, Sent::key, false, 422,
              "urn:onceward:problem:key-reused", false, false},
    DraftCase{"key reused with another payload while the first runs", Before::in_flight, Sent::key,
              false, 422, "urn:onceward:problem:key-reused", false, false},
    DraftCase{"key missing", Before::nothing, Sent::no_key, true, 400,
              "urn:onceward:problem:key-missing", false, false},
    DraftCase{"key malformed", Before::nothing, Sent::malformed_key, true, 400,
              "urn:onceward:problem:key-malformed", false, false},
};

constexpr std::array<std::string_view, 14> never_replayed{"Connection",
                                                          "Keep-Alive",
                                                          "Proxy-Authenticate",
                                                          "Proxy-Authorization",
                                                          "Proxy-Connection",
                                                          "TE",
                                                          "Trailer",
                                                          "Transfer-Encoding",
                                                          "Upgrade",
                                                          "Set-Cookie",
                                                          "Set-Cookie2",
                                                          "Content-Length",
                                                          "Idempotent-Replayed",
                                                          "Date"};

}  // namespace

bool may_replay(std::string_view name, std::string_view value) {
    const bool token = !name.empty() && std::ranges::all_of(name, [](char c) {
        return c > 0x20 && c < 0x7F &&
               std::string_view("()<>@,;:\\\"/[]?={}").find(c) == std::string_view::npos;
    });
    return token && header_safe(value) &&
           std::ranges::none_of(never_replayed,
                                [&](std::string_view known) { return same_name(known, name); });
}

HttpResponse answer_of(KeyedAnswer answer, const std::optional<RequestKey>& key,
                       const std::string& key_header) {
    HttpResponse response;
    switch (answer.state) {
        case KeyState::fresh:
        case KeyState::replayed:
            response = std::move(answer.result);
            std::erase_if(response.headers, [&](const auto& header) {
                return !may_replay(header.first, header.second) ||
                       same_name(header.first, key_header);
            });
            break;
        case KeyState::in_flight:
            response = to_response({.kind = ProblemKind::key_in_flight,
                                    .detail = "Ask again with the same key.",
                                    .retry_after = answer.retry_after});
            break;
        case KeyState::conflict:
            response = to_response(
                {.kind = ProblemKind::key_reused,
                 .detail = "The same key came with another request before. Use a new key for a new "
                           "request."});
            break;
    }
    if (answer.state == KeyState::replayed) {
        response.headers.emplace_back("Idempotent-Replayed", "true");
    }
    if (key) response.headers.emplace_back(key_header, key->written);
    return response;
}

std::span<const DraftCase> draft_cases() { return cases; }

}  // namespace onceward
