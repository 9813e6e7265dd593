#pragma once
// Ends the process if its shutdown takes longer than any statement may. libpq waits for ever for a
// frozen server whose kernel or proxy still answers; what was under way there is in doubt, as after
// a kill. Create it where the shutdown begins, in a scope that outlives what it waits for.

#include <chrono>
#include <thread>

#include "cli/configuration/configuration.h"

namespace onceward {

class ShutdownDeadline {
  public:
    // Unless it is destroyed before `limit` the process ends at once, with `code`.
    ShutdownDeadline(std::chrono::milliseconds limit, int code);

  private:
    std::jthread thread_;
};

// The drain, a call to an upstream, a statement, and what is neither: Kafka, joins.
std::chrono::milliseconds longest_end(const Configuration& configuration);

}  // namespace onceward
