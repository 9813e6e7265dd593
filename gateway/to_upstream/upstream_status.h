#pragma once
// Reads what became of the keys of a route to an upstream, in a session of its own, so that no
// query waits for a call. Used by one thread.

#include <memory>
#include <optional>
#include <vector>

#include "gateway/to_upstream/upstream_session.h"

namespace onceward {

class UpstreamStatus {
  public:
    // They outlive it.
    explicit UpstreamStatus(const UpstreamRequestOptions& options);
    // In the keys' order, by one statement; nullopt if PostgreSQL fails.
    std::optional<std::vector<StatusOutcome>> look(const std::vector<Digest>& keys);

  private:
    std::optional<std::vector<StatusOutcome>> read(const std::vector<Digest>& keys);
    std::vector<StatusOutcome> statuses(const std::vector<Digest>& keys);

    const UpstreamRequestOptions& options_;
    std::unique_ptr<ResultStore> results_;  // of the session
    ServerSession session_;
};

}  // namespace onceward
