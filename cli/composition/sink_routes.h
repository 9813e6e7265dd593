#pragma once
// The routes of a process that lead to sinks: a batcher for each, and what looks after their
// sessions and ledgers. Thread-safe as a RequestTarget; made and ended by one thread. Throws
// FormatError, at a route's first request, where its format cannot be set up.

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "cli/admin/process_status.h"
#include "cli/configuration/configuration.h"
#include "consumer/relay/relay.h"
#include "dedup/base/step_observer.h"
#include "dedup/retention/retention.h"
#include "dedup/server/frozen_session_guard.h"
#include "gateway/to_sink/sink_batcher.h"

namespace onceward {

class SinkRoutes final : public RequestTarget {
  public:
    // The observer may be null.
    SinkRoutes(const Configuration& configuration, StepObserver* observer);
    // What still waits gets a 503.
    ~SinkRoutes() override;
    void submit(std::vector<KeyedRequest> requests, Then then) override;
    void look(std::size_t route, const Digest& key,
              std::function<void(StatusOutcome)> then) override;
    // What looks after its ledgers and its outbox.
    void complete(ProcessStatus& status) const;

  private:
    FrozenSessionGuard guard_;
    std::map<std::string, std::atomic<std::int64_t>> timed_out_;  // batches, by their route's name
    RetentionJob retention_;
    std::optional<Relay> relay_;  // where a route publishes; another process may lead
    std::map<std::size_t, std::unique_ptr<SinkBatcher>> batchers_;  // by the route's place
    std::jthread retention_thread_;
    std::jthread relay_thread_;
};

}  // namespace onceward
