#include "gateway/requests/answers.h"

#include <nlohmann/json.hpp>

#include "dedup/sink/http_header_rules.h"

namespace onceward {
namespace {

HttpResponse told(const nlohmann::ordered_json& body) {
    // The status can change at any moment, so it must not be cached.
    return {.status = 200,
            .headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
            .body = body.dump()};
}

}  // namespace

bool may_replay(std::string_view name, std::string_view value) {
    // Those that the front door writes itself.
    const bool own = same_header(name, "Date") || same_header(name, "Idempotent-Replayed");
    return valid_header_name(name) && valid_header_value(value) && !is_never_stored(name) && !own;
}

HttpResponse answer_of(KeyedAnswer answer, const OwnHeaders& own) {
    HttpResponse response;
    switch (answer.state) {
        case KeyState::fresh:
        case KeyState::replayed:
            response = std::move(answer.result);
            std::erase_if(response.headers, [&](const auto& header) {
                return !may_replay(header.first, header.second) ||
                       same_header(header.first, own.key) ||
                       same_header(header.first, own.replay) ||
                       same_header(header.first, own.window);
            });
            if (!own.window.empty()) {
                response.headers.emplace_back(own.window, std::to_string(own.known.count()));
            }
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
        response.headers.emplace_back(own.replay, "true");
        response.replayed = true;
    }
    return response;
}

HttpResponse response_of(const MessageResult& result) {
    const bool failed = result.kind == MessageResult::Kind::failed;
    const int made_up = failed ? 422 : result.body.empty() ? 204 : 200;
    return {.status = result.status == 0 ? made_up : result.status,
            .headers = result.headers,
            .body = result.body};
}

StatusOutcome while_running(StatusOutcome known) {
    using State = KeyStatus::State;
    const auto* status = std::get_if<KeyStatus>(&known);
    const bool told = status != nullptr &&
                      (status->state == State::in_flight || status->state == State::completed);
    return told ? known : KeyStatus{.state = State::in_flight};
}

StatusOutcome while_looked_up(StatusOutcome known) {
    const auto* status = std::get_if<KeyStatus>(&known);
    if (status == nullptr || status->state != KeyStatus::State::unknown) return known;
    return KeyStatus{.state = KeyStatus::State::in_flight};
}

HttpResponse status_response(const StatusOutcome& outcome) {
    if (const auto* problem = std::get_if<Problem>(&outcome)) return to_response(*problem);
    const KeyStatus& known = std::get<KeyStatus>(outcome);
    switch (known.state) {
        case KeyStatus::State::unknown: break;
        case KeyStatus::State::in_flight: {
            nlohmann::ordered_json body{{"state", "in-flight"}};
            if (known.retry_after) body["retry_after"] = known.retry_after->count();
            return told(body);
        }
        case KeyStatus::State::outcome_unknown: return told({{"state", "outcome-unknown"}});
        case KeyStatus::State::completed:
            return told({{"state", "completed"}, {"status", known.status}});
    }
    return to_response({.kind = ProblemKind::key_unknown});
}

}  // namespace onceward
