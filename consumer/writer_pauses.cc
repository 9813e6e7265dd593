// How the writer learns that an operator has paused a topic of the group, or resumed it.

#include <algorithm>

#include "consumer/writer.h"
#include "dedup/base/logging.h"
#include "dedup/operator/topic_pauses.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr auto pauses_look_every = 1s;
constexpr auto after_refusal = 30s;  // a right on the table is missing: said again then

}  // namespace

// Between two batches: what is in flight ends; what is queued of a paused partition is discarded
// and read again from the fence. The partitions stay assigned, so that no rebalance happens.
void Writer::look_at_pauses() {
    const auto now = Clock::now();
    if (!connection_ || now < next_pauses_) return;
    next_pauses_ = now + pauses_look_every;
    try {
        std::map<std::string, std::string> paused;
        for (const TopicPause& pause : open_pauses(*connection_, options_.kafka.group)) {
            const bool mine = std::ranges::any_of(
                topics_, [&](const Topic& topic) { return topic.options->name == pause.topic; });
            if (mine) paused[pause.topic] = describe(pause);
        }
        const Assignment::PauseChange change =
            exchange_.with([&](Assignment& assignment) { return assignment.set_paused(paused); });
        for (const std::string& topic : change.paused) {
            log_warning("topic.paused", {{"topic", topic}, {"reason", paused.at(topic)}});
        }
        for (const std::string& topic : change.resumed) {
            log_info("topic.resumed", {{"topic", topic}});
        }
        if (!change.paused.empty()) source_.wake();
    } catch (const PostgresError& error) {
        if (classify(error.diagnosis(), Origin::ours, 0) != FailureAction::stop) {
            handle(error, nullptr);
            return;
        }
        next_pauses_ = now + after_refusal;
        log_error("pauses.unreadable", {{"error", error.what()}});
    }
}

}  // namespace onceward
