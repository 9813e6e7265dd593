#pragma once
// Tells what became of the keys of a route to an upstream. With a thread and a session of its own,
// so that no question waits behind a call; questions that wait together are one statement.
// Thread-safe; every question is answered once, where PostgreSQL does not say with a 503.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "gateway/upstream_session.h"

namespace onceward {

class UpstreamStatus {
  public:
    using Then = std::function<void(StatusOutcome)>;
    // They outlive it.
    explicit UpstreamStatus(const UpstreamRequestOptions& options);
    // What still waits gets a 503.
    ~UpstreamStatus();
    // From its own thread; at once where too many wait.
    void look(const Digest& key, Then then);

  private:
    struct Look {
        Digest key;
        Then then;
    };
    void run(const std::stop_token& stop);
    void answer(const std::vector<Look>& looks);
    std::optional<std::vector<StatusOutcome>> read(const std::vector<Look>& looks);
    std::vector<StatusOutcome> statuses(const std::vector<Digest>& keys);

    const UpstreamRequestOptions& options_;
    std::unique_ptr<Connection> connection_;  // of the thread alone
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::vector<Look> looks_;
    std::jthread thread_;  // the last member: it uses the others
};

}  // namespace onceward
