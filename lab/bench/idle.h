#pragma once
// What a worker costs that has nothing to do: the program's own `run` in a process of its own, over
// an empty topic and ledger, with default settings. Used by one thread; failures are exceptions.

#include <chrono>

#include "lab/bench/consumption.h"

namespace onceward::bench {

struct IdleCost {
    double percent_of_a_core = 0;
    double megabytes = 0;  // resident, at the end
};

// Looks at it for so long, from a while after it has taken its fences.
IdleCost run_idle(const Place& place, const Workload& empty_topic, Tables& tables,
                  std::chrono::milliseconds duration);

}  // namespace onceward::bench
