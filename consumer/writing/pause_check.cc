#include "consumer/writing/pause_check.h"

#include <algorithm>
#include <utility>

#include "dedup/base/logging.h"
#include "dedup/operator/interventions.h"
#include "dedup/policy/failure.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr auto pauses_every = 1s;
constexpr auto after_refusal = 30s;  // a right on the table is missing: reported again then

}  // namespace

void PauseCheck::check() {
    if (!session_.connected()) return;
    const auto now = FailureResponse::Clock::now();
    // A new session checks at once, before any fence is taken in it.
    const bool new_session = std::exchange(session_number_, session_.number()) != session_.number();
    if (now < next_ && !new_session) return;
    next_ = now + pauses_every;
    try {
        std::map<std::string, std::string> paused;
        for (const TopicPause& pause : open_pauses(session_.connection(), options_.kafka.group)) {
            const auto mine = std::ranges::find(options_.topics, pause.topic, &WorkerTopic::name);
            if (mine != options_.topics.end()) paused[pause.topic] = describe(pause);
        }
        apply(paused);
    } catch (const PostgresError& error) {
        if (meaning_of(error) != FailureAction::stop)
            return failures_.outside_batch(error, nullptr);
        next_ = now + after_refusal;
        log_error("pauses.unreadable", {{"error", error.what()}});
    }
}

void PauseCheck::apply(const std::map<std::string, std::string>& paused) {
    const Assignment::PauseChange change =
        handoff_.with([&](Assignment& assignment) { return assignment.set_paused(paused); });
    for (const std::string& topic : change.paused) {
        log_warning("topic.paused", {{"topic", topic}, {"reason", paused.at(topic)}});
    }
    for (const std::string& topic : change.resumed) {
        log_info("topic.resumed", {{"topic", topic}});
    }
    if (!change.paused.empty()) source_.wake();
}

}  // namespace onceward
