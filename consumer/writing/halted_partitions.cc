#include "consumer/writing/halted_partitions.h"

#include <algorithm>
#include <utility>

#include "dedup/base/logging.h"
#include "dedup/policy/failure.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using Clock = FailureResponse::Clock;

constexpr auto halted_every = 2s;
// The table of a topic that was just stopped may have changed already.
constexpr auto check_after_stop = 100ms;

// A right that is missing is a state like others; what concerns the session is not.
std::string state_of(Sink& sink, Connection& connection) {
    try {
        return sink.target_state(connection);
    } catch (const PostgresError& error) {
        if (meaning_of(error) != FailureAction::stop) throw;
        return error.sqlstate();
    }
}

}  // namespace

void HaltedPartitions::check() {
    if (!session_.connected()) return;
    wake_due();
    const auto now = Clock::now();
    if (failures_.take_stopped()) next_ = std::min(next_, now + check_after_stop);
    if (now < next_) return;
    next_ = now + halted_every;
    const auto halted = handoff_.look(
        [](const Assignment& assignment) { return assignment.with_phase(PartitionPhase::halted); });
    if (halted.empty()) return;
    try {
        check_targets(halted);
        for (const TopicPartition& partition : halted) check_fence(partition);
    } catch (const PostgresError& error) {
        failures_.outside_batch(error, nullptr);
    }
}

void HaltedPartitions::wake_due() {
    handoff_.with([now = Clock::now()](Assignment& assignment) {
        for (const TopicPartition& partition : assignment.due_retries(now)) {
            assignment.wake(partition);
        }
    });
}

void HaltedPartitions::check_fence(const TopicPartition& partition) {
    const auto fence =
        session_.fences().look(session_.connection(), partition.topic, partition.partition);
    const auto [mine, reason] = handoff_.look([&](const Assignment& assignment) {
        const Assignment::Entry* entry = assignment.find(partition);
        if (entry == nullptr) return std::pair(std::string(), HaltReason::failed);
        return std::pair(entry->owner, entry->halt.reason);
    });
    // It halted with its topic before its row was read: this is the first check.
    if (fence && mine.empty() && reason == HaltReason::failed) {
        handoff_.with([&, owner = fence->owner](Assignment& assignment) {
            assignment.owned(partition, owner);
        });
        return;
    }
    // Another owner than the one that halted: the fence was moved by hand, or its row was made.
    if (fence && !fence->retired && fence->owner != mine) {
        log_info("partition.resumed",
                 {{"topic", partition.topic}, {"partition", partition.partition.raw()}});
        handoff_.with([&](Assignment& assignment) { assignment.wake(partition); });
    }
}

// A stopped topic is tried again when its table differs from the one at its last try, so that a
// repair takes effect at once and not at the next slow try. A topic that waits for an operator's
// command stays stopped.
void HaltedPartitions::check_targets(const std::vector<TopicPartition>& halted) {
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

}  // namespace onceward
