#pragma once
// The routes of a process that lead to upstreams, and what carries their requests on. Thread-safe
// as a RequestTarget; made and ended by one thread.

#include <map>
#include <memory>

#include "cli/composition/server_upkeep.h"
#include "cli/configuration/configuration.h"
#include "dedup/base/step_observer.h"
#include "gateway/to_upstream/upstream_requests.h"

namespace onceward {

// Calls an upstream with the webhook's HTTP client: TLS verified, private addresses refused, no
// redirect followed, a connection for each call. Throws std::invalid_argument for options that the
// configuration's checks refuse.
std::unique_ptr<UpstreamClient> make_upstream_client(const UpstreamTarget& upstream,
                                                     std::size_t answer_bytes);

class UpstreamRoutes final : public RequestTarget {
  public:
    // `observer` may be null; both it and `upkeep` outlive this.
    UpstreamRoutes(const Configuration& configuration, ServerUpkeep& upkeep,
                   StepObserver* observer);
    void submit(std::vector<KeyedRequest> requests, Then then) override;
    void look(std::size_t route, const Digest& key,
              std::function<void(StatusOutcome)> then) override;
    void complete(ProcessStatus& status) const;

  private:
    std::map<std::size_t, std::unique_ptr<UpstreamRequests>> routes_;  // by the route's place
};

}  // namespace onceward
