#include "gateway/key_status.h"

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

HttpResponse status_response(const StatusOutcome& outcome) {
    if (const auto* problem = std::get_if<Problem>(&outcome)) return to_response(*problem);
    const KeyStatus& known = std::get<KeyStatus>(outcome);
    switch (known.state) {
        case KeyStatus::State::unknown: break;
        case KeyStatus::State::in_flight: return told({{"state", "in-flight"}});
        case KeyStatus::State::completed:
            return told({{"state", "completed"}, {"status", known.status}});
    }
    return to_response({.kind = ProblemKind::key_unknown});
}

}  // namespace onceward
