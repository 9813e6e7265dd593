#pragma once
// Looks at the process's memory against its budget, and writes down what it was fetching when that
// was exceeded. Used by the thread of the run loop; borrows what it is given.

#include <cstdint>
#include <optional>

#include "cli/configuration/configuration.h"
#include "cli/process/worker_slots.h"
#include "consumer/watch/memory_suspect.h"

namespace onceward {

class MemoryWatch {
  public:
    MemoryWatch(const Configuration& configuration, const WorkerSlots& slots);
    // None: nothing is watched.
    std::optional<std::int64_t> budget() const { return budget_; }
    // True from when the budget was exceeded: then also says so and notes the suspect. The process
    // is to leave.
    bool exceeded();
    // Once more, after the workers were drained: they may have moved the suspect's fence.
    void note_suspect() const;

  private:
    const Configuration& configuration_;
    const WorkerSlots& slots_;
    std::optional<std::int64_t> budget_;
    std::optional<FetchSuspect> suspect_;
    std::int64_t resident_ = 0;
    bool exceeded_ = false;
};

}  // namespace onceward
