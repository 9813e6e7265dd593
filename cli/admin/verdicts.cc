#include "cli/admin/verdicts.h"

#include <nlohmann/json.hpp>

namespace onceward {
namespace {

std::string named(const WorkerState& worker) { return "worker " + std::to_string(worker.number); }

std::string named(const TopicPartition& partition) {
    return "partition " + partition.topic + "/" + std::to_string(partition.partition.raw());
}

std::string seconds_text(std::chrono::milliseconds duration) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(duration).count()) +
           " s";
}

}  // namespace

HealthVerdict liveness(const ProcessStatus& process) {
    HealthVerdict verdict;
    for (const WorkerState& worker : process.workers) {
        if (!worker.status) continue;  // It is restarted within seconds.
        const Worker::Status& status = *worker.status;
        if (status.since_poll > status.poll_limit / 2) {
            verdict.reasons.push_back(named(worker) + ": has not polled for " +
                                      seconds_text(status.since_poll));
        }
    }
    return verdict;
}

HealthVerdict readiness(const ProcessStatus& process) {
    HealthVerdict verdict;
    if (process.draining) verdict.reasons.emplace_back("draining");
    if (process.front_door && !process.front_door->postgres_failure.empty()) {
        verdict.reasons.push_back("routes: postgres: " + process.front_door->postgres_failure);
    }
    for (const WorkerState& worker : process.workers) {
        if (!worker.status) {
            verdict.reasons.push_back(named(worker) +
                                      ": ended, and is being restarted: " + worker.ended);
            continue;
        }
        const Worker::Status& status = *worker.status;
        if (!status.connected) {
            verdict.reasons.push_back(
                named(worker) + ": " + database_text(worker.database) + ": " +
                (status.postgres_failure.empty() ? "not connected yet" : status.postgres_failure));
        }
        if (!status.joined) {
            verdict.reasons.push_back(named(worker) + ": kafka: not a member of the group yet");
        }
        for (const auto& [partition, halt] : status.halted) {
            verdict.reasons.push_back(named(partition) + " halted: " + halt.text);
        }
        for (const PartitionStatus& partition : status.lag) {
            if (!partition.stalled || partition.phase == PartitionPhase::halted) continue;
            verdict.reasons.push_back(named(partition.partition) + " stalled for " +
                                      seconds_text(partition.standing) + ": " + partition.reason);
        }
    }
    return verdict;
}

std::string to_json(const HealthVerdict& verdict) {
    const nlohmann::json body{{"status", verdict.good() ? "ok" : "unavailable"},
                              {"reasons", verdict.reasons}};
    // What PostgreSQL says may be in any encoding before a session is open.
    return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace onceward
