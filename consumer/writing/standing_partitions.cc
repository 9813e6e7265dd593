#include "consumer/writing/standing_partitions.h"

#include <algorithm>
#include <utility>

#include "dedup/base/logging.h"
#include "dedup/operator/interventions.h"
#include "dedup/policy/failure.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using Clock = FailureResponse::Clock;

constexpr auto halted_every = 2s;
// The table of a topic that was just stopped may have changed already.
constexpr auto check_after_stop = 100ms;

// A missing privilege is a state like any other; a failure of the session is not.
std::string state_of(Sink& sink, Connection& connection) {
    try {
        return sink.target_state(connection);
    } catch (const PostgresError& error) {
        if (meaning_of(error) != FailureAction::stop) throw;
        return error.sqlstate();
    }
}

constexpr auto pauses_every = 1s;
constexpr auto after_refusal = 30s;  // a privilege is missing: reported again after that

constexpr auto read_again_after = 1s;

}  // namespace

bool StandingPartitions::check_pauses() {
    if (!session_.connected()) return false;
    const auto now = Clock::now();
    const bool new_session = session_number_ != session_.number();
    if (now < next_pauses_ && !new_session) return true;
    next_pauses_ = now + pauses_every;
    try {
        std::map<std::string, std::string> paused;
        for (const TopicPause& pause : open_pauses(session_.connection(), options_.kafka.group)) {
            const auto mine = std::ranges::find(options_.topics, pause.topic, &WorkerTopic::name);
            if (mine != options_.topics.end()) paused[pause.topic] = describe(pause);
        }
        apply_pauses(paused);
    } catch (const PostgresError& error) {
        if (meaning_of(error) != FailureAction::stop) {
            failures_.outside_batch(error, nullptr);
            return !new_session;
        }
        next_pauses_ = now + after_refusal;
        log_error("pauses.unreadable", {{"error", error.what()}});
    }
    session_number_ = session_.number();
    return true;
}

void StandingPartitions::apply_pauses(const std::map<std::string, std::string>& paused) {
    const Assignment::PauseChange change = handoff_.with(&Assignment::set_paused, paused);
    for (const std::string& topic : change.paused) {
        log_warning("topic.paused", {{"topic", topic}, {"reason", paused.at(topic)}});
    }
    for (const std::string& topic : change.resumed) {
        log_info("topic.resumed", {{"topic", topic}});
    }
    if (!change.paused.empty()) source_.wake();
}

void StandingPartitions::check_halted() {
    if (!session_.connected()) return;
    const auto now = Clock::now();
    handoff_.with([now](Assignment& assignment) {
        for (const TopicPartition& partition : assignment.due_retries(now)) {
            assignment.wake(partition);
        }
    });
    if (failures_.take_stopped()) next_halted_ = std::min(next_halted_, now + check_after_stop);
    if (now < next_halted_) return;
    next_halted_ = now + halted_every;
    const auto halted = handoff_.look(&Assignment::with_phase, PartitionPhase::halted);
    if (halted.empty()) return;
    try {
        check_targets(halted);
        for (const TopicPartition& partition : halted) check_fence(partition);
    } catch (const PostgresError& error) {
        failures_.outside_batch(error, nullptr);
    }
}

void StandingPartitions::check_fence(const TopicPartition& partition) {
    const auto fence =
        session_.fences().look(session_.connection(), partition.topic, partition.partition);
    const auto [mine, reason] = handoff_.look([&](const Assignment& assignment) {
        const Assignment::Entry* entry = assignment.find(partition);
        if (entry == nullptr) return std::pair(std::string(), HaltReason::failed);
        return std::pair(entry->fence.owner, entry->trouble.reason);
    });
    // The partition halted with its topic before its row was read: this is the first check.
    if (fence && mine.empty() && reason == HaltReason::failed) {
        handoff_.with(&Assignment::owned, partition, fence->owner);
        return;
    }
    // The owner is not the one that halted: the fence was moved by hand, or its row was created.
    if (fence && !fence->retired && fence->owner != mine) {
        log_info("partition.resumed",
                 {{"topic", partition.topic}, {"partition", partition.partition.raw()}});
        handoff_.with(&Assignment::wake, partition);
    }
}

// A stopped topic is tried again when its table differs from the one at its last try, so that a
// repair takes effect at once and not at the next slow try. A topic that waits for an operator's
// command stays stopped.
void StandingPartitions::check_targets(const std::vector<TopicPartition>& halted) {
    for (WriterTopic& topic : session_.topics()) {
        const auto mine = [&](const TopicPartition& partition) {
            return partition.topic == topic.options.name;
        };
        if (std::ranges::none_of(halted, mine)) continue;
        const std::string now = state_of(topic.sink, session_.connection());
        if (now == topic.target) continue;
        topic.target = now;
        const bool tried = handoff_.with([&](Assignment& assignment) {
            bool any = false;
            for (const TopicPartition& partition : halted) {
                const Assignment::Entry* entry = assignment.find(partition);
                if (!mine(partition) || entry == nullptr || !entry->retry) continue;
                assignment.wake(partition);
                any = true;
            }
            return any;
        });
        if (tried) log_info("topic.target_changed", {{"topic", topic.options.name}});
    }
}

// What was read before such records lands first: the fence is then directly before them.
void StandingPartitions::check_unreadable() {
    const std::vector<TopicPartition> partitions = handoff_.look(&Assignment::stopped_reading);
    if (partitions.empty()) return;
    const auto on_the_way = handoff_.on_the_way();
    for (const TopicPartition& partition : partitions) {
        if (!on_the_way.contains(partition)) try_again(partition);
    }
}

void StandingPartitions::try_again(const TopicPartition& partition) {
    const std::optional<Offset> fence = activity_.fence(partition);
    const auto entry = handoff_.look([&](const Assignment& assignment) {
        const Assignment::Entry* found = assignment.find(partition);
        return found == nullptr ? std::nullopt : std::optional(*found);
    });
    if (!fence || !entry || !entry->unreadable) return;
    const std::string why = entry->trouble.text;
    // The reading position may be past the fence, after control records that no transaction has
    // moved the fence over yet. Then reading begins at the fence once more before a failure counts.
    const bool counts = *fence == *entry->unreadable;
    const auto verdict = counts ? handoff_.with(&Assignment::read_failed, partition, *fence)
                                : ReadAttempts::Verdict::again;
    if (verdict == ReadAttempts::Verdict::halt) {
        const std::string text =
            "the records at offset " + std::to_string(fence->raw()) + " cannot be read: " + why +
            ". `onceward offsets retry` tries again, `offsets skip` passes them";
        return failures_.halt(partition, {HaltReason::unreadable, text, {}, fence}, 0ms);
    }
    log_warning("partition.unreadable", {{"topic", partition.topic},
                                         {"partition", partition.partition.raw()},
                                         {"offset", fence->raw()},
                                         {"error", why}});
    handoff_.with(&Assignment::wait, partition, Clock::now() + read_again_after, "");
}

}  // namespace onceward
