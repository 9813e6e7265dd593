#pragma once
// Whether a process lives and whether it does its work, and why not; and its metrics. Pure.
//
// A process is not alive only for a reason that a restart may fix: a reader that no longer polls.
// It is not ready if a message that waits would not be applied now. A halted or stalled partition
// makes the process not ready, so that a rollout that halts one stops. It never makes it not alive,
// since a restart would fix nothing and take the other topics with it.

#include <string>
#include <vector>

#include "cli/admin/process_status.h"

namespace onceward {

struct HealthVerdict {
    std::vector<std::string> reasons;  // why not; empty if all is well
    bool good() const { return reasons.empty(); }
};

HealthVerdict liveness(const ProcessStatus& process);
HealthVerdict readiness(const ProcessStatus& process);

// {"status": "ok" | "unavailable", "reasons": [...]}
std::string to_json(const HealthVerdict& verdict);

// The process's state in Prometheus's text format (metrics.cc). Base units, the prefix `onceward_`,
// the suffix `_total` for what only grows; labels never hold a key or an offset.
std::string metrics_text(const ProcessStatus& process);

}  // namespace onceward
