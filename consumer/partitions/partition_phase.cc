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
    const Halt& halt = halted.halt;
    const auto report = [&](const auto&... more) {
        log_error("partition.halted", {{"topic", halted.partition.topic},
                                       {"partition", halted.partition.partition.raw()},
                                       {"reason", to_text(halt.reason)},
                                       more...,
                                       {"error", halt.text}});
    };
    if (halt.lost) {
        report(LogField("lost_begin", halt.lost->begin.raw()),
               LogField("lost_end", halt.lost->end.raw()));
    } else if (halt.at) {
        report(LogField("offset", halt.at->raw()));
    } else {
        report();
    }
}

}  // namespace onceward
