#pragma once
// The routes of a process that lead to sinks: a batcher for each. What still waits at the end gets
// a 503. Thread-safe as a RequestTarget; made and ended by one thread. Throws FormatError, at a
// route's first request, where its format cannot be set up.

#include <atomic>
#include <map>
#include <memory>

#include "cli/composition/server_upkeep.h"
#include "cli/configuration/configuration.h"
#include "dedup/base/step_observer.h"
#include "gateway/to_sink/sink_batcher.h"

namespace onceward {

class SinkRoutes final : public RequestTarget {
  public:
    // The observer may be null; both it and `upkeep` outlive this.
    SinkRoutes(const Configuration& configuration, ServerUpkeep& upkeep, StepObserver* observer);
    void submit(std::vector<KeyedRequest> requests, Then then) override;
    void look(std::size_t route, const Digest& key,
              std::function<void(StatusOutcome)> then) override;
    // REQUIRES: the status has a front door.
    void complete(ProcessStatus& status) const;

  private:
    std::map<std::string, std::atomic<std::int64_t>> timed_out_;  // batches, by their route's name
    std::map<std::size_t, std::unique_ptr<SinkBatcher>> batchers_;  // by the route's place
};

}  // namespace onceward
