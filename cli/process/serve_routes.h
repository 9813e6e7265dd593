#pragma once
// One process from start to stop: its workers, and its front door, which is the server and what its
// routes need. Used by one thread. Throws ServerError if it cannot listen.

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "cli/composition/server_upkeep.h"
#include "cli/configuration/configuration.h"
#include "dedup/base/step_observer.h"

namespace onceward {

class GatewayRun {
  public:
    // `upkeep`: what the process runs for the server in `postgres`, which outlives this; without it
    // the routes have their own. REQUIRES: the configuration has routes.
    // `tracer`: null if traces are off; outlives this.
    explicit GatewayRun(const Configuration& configuration, StepObserver* observer = nullptr,
                        ServerUpkeep* upkeep = nullptr, Tracer* tracer = nullptr);
    ~GatewayRun();
    // Answers what is under way, for `limit` at most, and takes nothing new.
    void stop(std::chrono::milliseconds limit);
    std::uint16_t port() const;
    // For the process's metrics; from any thread.
    void complete(ProcessStatus& status) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// Serves the routes until stop_requested(), and then answers what is under way. `observer` may be
// null.
void serve_routes(const Configuration& configuration, StepObserver* observer);

// Runs the workers, with the routes and what runs for each PostgreSQL server, until
// stop_requested() or until nothing works any more (run_workers.cc). Refuses a schema of another
// version before that. Returns the process's exit code. `observer` may be null.
int run_workers(const Configuration& configuration, StepObserver* observer);

// How long a shutdown takes at most.
std::chrono::milliseconds longest_drain(const Configuration& configuration);

// Begins a shutdown. It may take no longer than the drain, a call to an upstream, a statement, and
// the rest (Kafka, joins) together. Unless the thread is destroyed before, the process then ends at
// once, with `code`. libpq waits for ever for a frozen server whose kernel or proxy still answers;
// what was under way there is in doubt, as after a kill. Keep it in a scope that outlives what it
// waits for. Call it before ServiceManager::stopping(): sd_notify(3) waits as long as nobody reads
// the manager's socket.
std::jthread leave_in_time(const Configuration& configuration, int code);

}  // namespace onceward
