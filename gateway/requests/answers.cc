#include "gateway/requests/answers.h"

#include <algorithm>

#include "dedup/sink/http_header_rules.h"

namespace onceward {

bool may_replay(std::string_view name, std::string_view value) {
    // Those that the front door writes itself.
    const bool own = same_header(name, "Date") || same_header(name, "Idempotent-Replayed");
    return valid_header_name(name) && valid_header_value(value) && !is_never_stored(name) && !own;
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
                       same_header(header.first, key_header);
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

HttpResponse response_of(const MessageResult& result) {
    HttpResponse response;
    const bool failed = result.kind == MessageResult::Kind::failed;
    response.status = result.status;
    if (response.status == 0) response.status = failed ? 422 : result.body.empty() ? 204 : 200;
    response.headers = result.headers;
    response.body = result.body;
    return response;
}

}  // namespace onceward
