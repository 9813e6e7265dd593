#pragma once
// What the program's own `run` costs over many topics and partitions: its start, its rate and its
// memory, in a process of its own. Used by one thread; failures are exceptions.

#include <vector>

#include "lab/bench/measurement.h"
#include "lab/bench/worker_process.h"

namespace onceward::bench {

// Topics that are full, each with a table of its own.
struct ManyTopics {
    std::vector<Workload> topics;
    int workers = 1;
};

struct ManyCost {
    Measurement run;       // from all fences and the first 5 % of the messages to the last commit
    double start = 0;      // seconds from the process's start to all fences and the first commit
    double restart = 0;    // seconds from another one's start, afterwards, to all fences
    double megabytes = 0;  // resident, at most
};

ManyCost run_many(const Place& place, const ManyTopics& many, Tables& tables);

}  // namespace onceward::bench
