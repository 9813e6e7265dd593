#include "consumer/partitions/partition_phase.h"

#include "dedup/base/logging.h"

namespace onceward {

std::string_view to_text(HaltReason reason) {
    switch (reason) {
        case HaltReason::failed: return "failed";
        case HaltReason::fence_lost: return "fence_lost";
        case HaltReason::retired: return "retired";
        case HaltReason::other_log: return "other_log";
        case HaltReason::out_of_range: return "out_of_range";
        case HaltReason::log_cut: return "log_cut";
        case HaltReason::unreadable: return "unreadable";
        case HaltReason::memory: return "memory";
    }
    return "";
}

void log_halted(const HaltedPartition& halted) {
    const auto& [partition, halt] = halted;
    const LogField topic("topic", partition.topic);
    const LogField number("partition", partition.partition.raw());
    const LogField reason("reason", to_text(halt.reason));
    const LogField error("error", halt.text);
    if (halt.lost) {
        log_error("partition.halted", {topic,
                                       number,
                                       reason,
                                       {"lost_begin", halt.lost->begin.raw()},
                                       {"lost_end", halt.lost->end.raw()},
                                       error});
    } else if (halt.at) {
        log_error("partition.halted", {topic, number, reason, {"offset", halt.at->raw()}, error});
    } else {
        log_error("partition.halted", {topic, number, reason, error});
    }
}

}  // namespace onceward
