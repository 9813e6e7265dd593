#pragma once
// The front door of one process, from start to stop: the server and what its routes need. Used by
// one thread. Throws ServerError where it cannot listen.

#include <chrono>
#include <cstdint>
#include <memory>

#include "cli/composition/server_upkeep.h"
#include "cli/configuration/configuration.h"
#include "dedup/base/step_observer.h"

namespace onceward {

class GatewayRun {
  public:
    // `upkeep`: what the process runs for the server in `postgres`, which outlives this; without it
    // the routes have their own. REQUIRES: the configuration has routes.
    explicit GatewayRun(const Configuration& configuration, StepObserver* observer = nullptr,
                        ServerUpkeep* upkeep = nullptr);
    ~GatewayRun();
    // Answers what is under way, at most so long, and takes nothing new.
    void stop(std::chrono::milliseconds limit);
    std::uint16_t port() const;
    // For the process's metrics; from any thread.
    void complete(ProcessStatus& status) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// Serves the routes until stop_requested(), and answers then what is under way. `observer` may be
// null.
void serve_routes(const Configuration& configuration, StepObserver* observer);

}  // namespace onceward
