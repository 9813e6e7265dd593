#include "consumer/partitions/partition_phase.h"

#include <array>

#include "dedup/base/logging.h"

namespace onceward {

std::string_view to_text(HaltReason reason) {
    static constexpr std::array<std::string_view, 8> texts{"failed",     "fence_lost",   "retired",
                                                           "other_log",  "out_of_range", "log_cut",
                                                           "unreadable", "memory"};
    return texts.at(static_cast<std::size_t>(reason));
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
