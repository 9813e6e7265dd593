#pragma once
// Carries requests out, many in one transaction: a batch is what arrived during the previous
// commit, so a lone request does not wait. One for each route, with a session and threads of its
// own. A request whose key another process works on is tried again along with the next batches,
// which do not wait for it. Thread-safe; every request is answered once, at its deadline at the
// latest, or a second later if it is in a transaction that does not end. If PostgreSQL is away,
// requests wait for it until then.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "dedup/base/mutex.h"
#include "gateway/requests/key_turns.h"
#include "gateway/requests/keyed_request.h"
#include "gateway/requests/status_questions.h"
#include "gateway/to_sink/batch_size.h"
#include "gateway/to_sink/sink_session.h"

namespace onceward {

class SinkBatcher final : public RequestTarget {
  public:
    explicit SinkBatcher(SinkBatcherOptions options);
    // What still waits gets a 503; what is in a transaction is carried out.
    ~SinkBatcher() override;
    void submit(std::vector<KeyedRequest> requests, Then then) override;
    void look(std::size_t route, const Digest& key,
              std::function<void(StatusOutcome)> then) override;

  private:
    using Clock = std::chrono::steady_clock;
    struct Queued;
    void run(const std::stop_token& stop);
    void watch(const std::stop_token& stop);
    std::optional<Clock::time_point> next_deadline() const ONCEWARD_REQUIRES(mutex_);
    std::vector<std::unique_ptr<Queued>> take_overdue(Clock::time_point now)
        ONCEWARD_REQUIRES(mutex_);
    std::vector<Asking> tell_of_batch(Clock::time_point now) ONCEWARD_REQUIRES(mutex_);
    std::vector<std::unique_ptr<Queued>> gather(const std::stop_token& stop);
    void gather_held(std::vector<std::unique_ptr<Queued>>& batch) ONCEWARD_REQUIRES(mutex_);
    void hold_unfinished(std::vector<std::unique_ptr<Queued>>& batch);
    void admit(KeyTurns::Turn turn, ToldLater& told) ONCEWARD_REQUIRES(mutex_);
    void tell_originals(std::span<const Digest> keys) ONCEWARD_EXCLUDES(mutex_);
    void answer(Queued& queued, KeyedOutcome outcome) ONCEWARD_EXCLUDES(mutex_);
    static void tell(const std::vector<StatusQuestions::Pointer>& questions, SinkSession* session);
    void answer_all(std::vector<std::unique_ptr<Queued>>& requests);

    SinkBatcherOptions options_;
    BatchSize size_;  // of the worker's thread
    Mutex mutex_;
    std::condition_variable_any wake_;        // work
    std::condition_variable_any wake_watch_;  // a deadline
    // Nearly in the order of their deadlines.
    std::deque<std::unique_ptr<Queued>> queue_ ONCEWARD_GUARDED_BY(mutex_);
    // Elsewhere; in the order of their next tries.
    std::deque<std::unique_ptr<Queued>> held_ ONCEWARD_GUARDED_BY(mutex_);
    std::vector<Queued*> running_ ONCEWARD_GUARDED_BY(mutex_);  // the batch that is carried out
    // The deadline of the first of them that was not answered.
    std::optional<Clock::time_point> running_deadline_ ONCEWARD_GUARDED_BY(mutex_);
    StatusQuestions questions_ ONCEWARD_GUARDED_BY(mutex_);
    KeyTurns turns_ ONCEWARD_GUARDED_BY(mutex_);
    // The keys that are worked on.
    std::unordered_map<Digest, std::uint64_t> groups_ ONCEWARD_GUARDED_BY(mutex_);
    std::uint64_t last_group_ ONCEWARD_GUARDED_BY(mutex_) = 0;
    bool stopping_ ONCEWARD_GUARDED_BY(mutex_) = false;
    std::jthread worker_;
    std::jthread watcher_;  // the last members: they use the others
};

}  // namespace onceward
