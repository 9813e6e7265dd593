#pragma once
// Which worker is killed or frozen, after how many messages, and for how long. A pure function of
// the seed.

#include <chrono>
#include <cstdint>
#include <vector>

namespace onceward::demo {

struct Fault {
    enum class Kind : std::uint8_t {
        kill,    // SIGKILL; a new worker takes its place
        freeze,  // SIGSTOP, and SIGCONT after `duration`
    };
    Kind kind = Kind::kill;
    int worker = 0;
    std::int64_t at = 0;  // messages that the workers have passed by then
    std::chrono::milliseconds duration{0};
};

struct FaultPlanOptions {
    std::uint64_t seed = 1;
    std::int64_t messages = 0;
    int workers = 3;
    // A freeze that is longer than this costs the worker its partitions. Every second one is.
    std::chrono::milliseconds session_end{0};
};

// As many kills as freezes, by chance in order, spread over the run.
std::vector<Fault> plan_faults(const FaultPlanOptions& options);

}  // namespace onceward::demo
