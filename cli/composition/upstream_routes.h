#pragma once
// The routes of a process that lead to upstreams: what carries their requests on, and what looks
// after their sessions and ledgers. Thread-safe as a RequestTarget; made and ended by one thread.

#include <map>
#include <memory>
#include <thread>

#include "cli/admin/process_status.h"
#include "cli/configuration/configuration.h"
#include "dedup/base/step_observer.h"
#include "dedup/retention/retention.h"
#include "dedup/server/frozen_session_guard.h"
#include "gateway/to_upstream/upstream_requests.h"

namespace onceward {

// Calls an upstream with the webhook's HTTP client: TLS verified, private addresses refused, no
// redirect followed, a connection for each call. Throws std::invalid_argument for options that the
// configuration's checks refuse.
std::unique_ptr<UpstreamClient> make_upstream_client(const UpstreamTarget& upstream,
                                                     std::size_t answer_bytes);

class UpstreamRoutes final : public RequestTarget {
  public:
    // `observer` may be null; it outlives this.
    explicit UpstreamRoutes(const Configuration& configuration, StepObserver* observer = nullptr);
    ~UpstreamRoutes() override;
    void submit(std::vector<KeyedRequest> requests, Then then) override;
    void look(std::size_t route, const Digest& key,
              std::function<void(StatusOutcome)> then) override;
    // What looks after its ledgers.
    void complete(ProcessStatus& status) const;

  private:
    FrozenSessionGuard guard_;
    RetentionJob retention_;
    std::map<std::size_t, std::unique_ptr<UpstreamRequests>> routes_;  // by the route's place
    std::jthread retention_thread_;
};

}  // namespace onceward
