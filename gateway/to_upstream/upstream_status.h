#pragma once
// Reports what became of the keys of a route to an upstream. It has a thread and a session of its
// own, so that no query waits for a call; queries that wait together are one statement.
// Thread-safe; every query is answered once, with a 503 if PostgreSQL fails, or does not answer
// before the query's deadline.

#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "dedup/base/mutex.h"
#include "dedup/results/result_store.h"
#include "dedup/server/server_session.h"
#include "gateway/requests/status_questions.h"
#include "gateway/to_upstream/upstream_session.h"

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
    using Questions = std::vector<StatusQuestions::Pointer>;
    void run(const std::stop_token& stop);
    void watch(const std::stop_token& stop);
    void answer(const Questions& questions);
    std::optional<std::vector<StatusOutcome>> read(const Questions& questions);
    std::vector<StatusOutcome> statuses(const std::vector<Digest>& keys);

    const UpstreamRequestOptions& options_;
    // Used only by the first thread.
    std::unique_ptr<ResultStore> results_;  // of the session
    ServerSession session_;
    Mutex mutex_;
    std::condition_variable_any wake_;
    std::condition_variable_any wake_watch_;
    StatusQuestions questions_ ONCEWARD_GUARDED_BY(mutex_);
    std::jthread thread_;
    std::jthread watcher_;  // the last members: they use the others
};

}  // namespace onceward
