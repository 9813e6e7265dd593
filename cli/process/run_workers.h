#pragma once
// The workers of one process, with its routes and what it runs for each PostgreSQL server, from
// start to drain. Used by one thread, which blocks in run_workers() until stop_requested() or until
// nothing works any more.

#include "cli/configuration/configuration.h"
#include "dedup/base/step_observer.h"

namespace onceward {

// Refuses a schema of another version, then runs. The process's exit code. `observer` may be null.
int run_workers(const Configuration& configuration, StepObserver* observer);

}  // namespace onceward
