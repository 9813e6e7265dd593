#pragma once
// The routes of a process that keep keys: those to sinks, a batcher for each, and those to
// upstreams, with what carries their requests on. What still waits at the end gets a 503.
// Thread-safe as a RequestTarget; made and ended by one thread. Throws FormatError if a format
// cannot be set up: at the first request of a route to a sink, or at once if its fingerprint needs
// the format.

#include <atomic>
#include <map>
#include <memory>

#include "cli/composition/server_upkeep.h"
#include "cli/configuration/configuration.h"
#include "consumer/intake/body_fingerprint.h"
#include "dedup/base/step_observer.h"
#include "gateway/to_sink/sink_batcher.h"
#include "gateway/to_upstream/upstream_requests.h"

namespace onceward {

// Calls an upstream with the webhook's HTTP client: TLS verified, private addresses refused, no
// redirect followed, a connection for each call. Throws std::invalid_argument for options that the
// configuration's checks refuse.
UpstreamClient make_upstream_client(const UpstreamTarget& upstream, std::size_t answer_bytes);

class KeyedRoutes final : public RequestTarget {
  public:
    // The observer may be null, and the tracer if traces are off; they and `upkeep` outlive this.
    KeyedRoutes(const Configuration& configuration, ServerUpkeep& upkeep, StepObserver* observer,
                Tracer* tracer);
    void submit(std::vector<KeyedRequest> requests, Then then) override;
    void look(std::size_t route, const Digest& key,
              std::function<void(StatusOutcome)> then) override;
    // See FieldsDigest. REQUIRES: the route's fingerprint is of fields.
    std::variant<Digest, std::string> fields(std::size_t route, std::string_view body) const {
        return fingerprints_.at(route)->of(body);
    }
    // REQUIRES: the status has a front door.
    void complete(ProcessStatus& status) const;

  private:
    RequestTarget& at(std::size_t route) const;

    std::map<std::string, std::atomic<std::int64_t>> timed_out_;  // batches, by their route's name
    // All by the route's place.
    std::map<std::size_t, std::unique_ptr<SinkBatcher>> sinks_;
    std::map<std::size_t, std::unique_ptr<UpstreamRequests>> upstreams_;
    std::map<std::size_t, std::unique_ptr<BodyFingerprint>> fingerprints_;
};

}  // namespace onceward
