#include "gateway/requests/key_status.h"

#include <nlohmann/json.hpp>

namespace onceward {
namespace {

HttpResponse told(const nlohmann::ordered_json& body) {
    // Another moment's answer is no answer.
    return {.status = 200,
            .headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
            .body = body.dump()};
}

}  // namespace

StatusOutcome while_running(StatusOutcome known) {
    if (const auto* status = std::get_if<KeyStatus>(&known)) {
        switch (status->state) {
            case KeyStatus::State::in_flight:
            case KeyStatus::State::completed: return known;
            case KeyStatus::State::unknown:
            case KeyStatus::State::outcome_unknown: break;
        }
    }
    return KeyStatus{.state = KeyStatus::State::in_flight};
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
