#include "tests/faults/checker/evidence.h"

namespace onceward::checker {
namespace {

// A worker with a lease may have been frozen for that long before it made its call.
constexpr std::int64_t longest_call_us = 5'000'000;

}  // namespace

void excuse_what_was_lost(Evidence& evidence) {
    const std::int64_t from = evidence.settings.lost_from_us;
    const std::int64_t to = evidence.settings.lost_to_us;
    if (to == 0) return;
    for (Request& request : evidence.requests) {
        // Without its times nothing is excused.
        if (request.sent_us == 0 || request.sent_us > to || request.ended_us < from) continue;
        request.status = 0;
        request.replayed = false;
        request.problem.clear();
        request.answer.clear();
        request.effect.reset();
    }
    const auto lost = [&](std::int64_t at) { return at >= from && at <= to + longest_call_us; };
    for (Call& call : evidence.calls) call.lost = lost(call.at_us);
    for (RouteCall& call : evidence.route_calls) call.lost = call.at_us != 0 && lost(call.at_us);
}

}  // namespace onceward::checker
