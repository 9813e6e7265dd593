// How the writer comes back to partitions that were halted.

#include <algorithm>
#include <utility>

#include "consumer/writer.h"
#include "dedup/base/logging.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

// whether a halted partition's fence was moved by hand, or its sink's target was fixed
constexpr auto halted_look_every = 2s;

// A right that is missing is a state like others; what concerns the session is not.
std::string state_of(Sink& sink, Connection& connection) {
    try {
        return sink.target_state(connection);
    } catch (const PostgresError& error) {
        if (classify(error.diagnosis(), Origin::ours, 0) != FailureAction::stop) throw;
        return error.sqlstate();
    }
}

}  // namespace

void Writer::halt(const TopicPartition& partition, const Halt& halt,
                  std::chrono::milliseconds first_retry) {
    log_halted({partition, halt});
    exchange_.with([&](Assignment& assignment) {
        assignment.halt(partition, halt, Clock::now(), first_retry);
    });
    source_.wake();
}

void Writer::look_after_halted() {
    const auto now = Clock::now();
    if (!connection_) return;
    exchange_.with([&](Assignment& assignment) {
        for (const TopicPartition& partition : assignment.due_retries(now)) {
            assignment.wake(partition);
        }
    });
    if (now < next_look_) return;
    next_look_ = now + halted_look_every;
    const auto halted = exchange_.look(
        [](const Assignment& assignment) { return assignment.with_phase(PartitionPhase::halted); });
    if (halted.empty()) return;
    try {
        look_at_targets(halted);
        for (const TopicPartition& partition : halted) {
            const auto fence = fences_.look(*connection_, partition.topic, partition.partition);
            const auto [mine, reason] = exchange_.look([&](const Assignment& assignment) {
                const Assignment::Entry* entry = assignment.find(partition);
                if (entry == nullptr) return std::pair(std::string(), HaltReason::failed);
                return std::pair(entry->owner, entry->halt.reason);
            });
            // It halted with its topic before its row was read: this is the first check.
            if (fence && mine.empty() && reason == HaltReason::failed) {
                exchange_.with([&, owner = fence->owner](Assignment& assignment) {
                    assignment.owned(partition, owner);
                });
                continue;
            }
            // Another owner than the one that halted: the fence was moved by hand, or its row was
            // made.
            if (fence && !fence->retired && fence->owner != mine) {
                log_info("partition.resumed",
                         {{"topic", partition.topic}, {"partition", partition.partition.raw()}});
                exchange_.with([&](Assignment& assignment) { assignment.wake(partition); });
            }
        }
    } catch (const PostgresError& error) {
        handle(error, nullptr);
    }
}

// A stopped topic is tried again when its table differs from the one at its last try, so that a
// repair takes effect at once and not at the next slow try. A topic that waits for an operator's
// word stays stopped.
void Writer::look_at_targets(const std::vector<TopicPartition>& halted) {
    for (Topic& topic : topics_) {
        const auto mine = [&](const TopicPartition& partition) {
            return partition.topic == topic.options->name;
        };
        if (std::ranges::none_of(halted, mine)) continue;
        const std::string now = state_of(*topic.sink, *connection_);
        if (now == topic.target) continue;
        topic.target = now;
        const bool tried = exchange_.with([&](Assignment& assignment) {
            bool any = false;
            for (const TopicPartition& partition : halted) {
                const Assignment::Entry* entry = assignment.find(partition);
                if (!mine(partition) || entry == nullptr || !entry->retry) continue;
                assignment.wake(partition);
                any = true;
            }
            return any;
        });
        if (tried) log_info("topic.target_changed", {{"topic", topic.options->name}});
    }
}

}  // namespace onceward
