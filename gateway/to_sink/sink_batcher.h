#pragma once
// Carries requests out, many in one transaction: a batch is what arrived during the previous
// commit, so a lone request does not wait. One for each route, with a session and threads of its
// own. A request that waits for another process's claim or lock is tried again along with the next
// batches, which do not wait for it. Thread-safe; every request is answered once, at its deadline
// at the latest, or a second later if it is in a transaction that does not end. If PostgreSQL is
// away, requests wait for it until their deadline.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "dedup/base/mutex.h"
#include "gateway/requests/key_turns.h"
#include "gateway/requests/status_questions.h"
#include "gateway/to_sink/sink_session.h"

namespace onceward {

// How many requests the next transaction of a route takes. It depends on how long the last ones
// took: if a batch is too slow, none of its requests is answered in time. Pure; not thread-safe.
class BatchSize {
  public:
    // `most`: the limit at any speed. `wanted`: roughly how long a batch may take.
    BatchSize(std::size_t most, std::chrono::milliseconds wanted)
        : most_(std::max<std::size_t>(most, 1)), wanted_(wanted), size_(std::min(most_, first)) {}
    std::size_t next() const { return size_; }
    void took(std::size_t requests, std::chrono::steady_clock::duration time) {
        if (requests == 0) return;
        const double share = std::chrono::duration<double>(wanted_) /
                             std::max(std::chrono::duration<double>(time), shortest);
        const double fits = std::max(1.0, static_cast<double>(requests) * share);
        // A fast small batch says little about a much larger one.
        const auto grown = static_cast<double>(std::min(most_, growth * size_));
        if (share >= 1.0) {
            size_ = static_cast<std::size_t>(std::clamp(fits, static_cast<double>(size_), grown));
        } else {
            size_ = static_cast<std::size_t>(std::min(fits, static_cast<double>(size_)));
        }
    }

  private:
    static constexpr std::size_t first = 16;  // before anything was measured
    static constexpr std::size_t growth = 4;
    static constexpr std::chrono::duration<double> shortest{1e-6};
    std::size_t most_;
    std::chrono::milliseconds wanted_;
    std::size_t size_;
};

class SinkBatcher final : public RequestTarget {
  public:
    explicit SinkBatcher(SinkBatcherOptions options);
    // Requests that still wait get a 503; those in a transaction are carried out.
    ~SinkBatcher() override;
    void submit(std::vector<KeyedRequest> requests, Then then) override;
    void look(std::size_t route, const Digest& key,
              std::function<void(StatusOutcome)> then) override;

  private:
    using Clock = std::chrono::steady_clock;
    struct Queued;
    // What is done after the mutex is released: a thread that is woken before only waits for it.
    struct Later {
        ToldLater told;
        bool work = false;
        bool deadline = false;  // an earlier one than the watcher waits for
    };
    void finish(Later& later) ONCEWARD_EXCLUDES(mutex_);
    void run(const std::stop_token& stop);
    void watch(const std::stop_token& stop);
    Clock::time_point next_deadline() const ONCEWARD_REQUIRES(mutex_);
    bool is_earlier_deadline() const ONCEWARD_REQUIRES(mutex_) {
        return next_deadline() < watched_;
    }
    std::vector<std::unique_ptr<Queued>> take_overdue(Clock::time_point now)
        ONCEWARD_REQUIRES(mutex_);
    std::vector<Asking> tell_late(Clock::time_point now) ONCEWARD_REQUIRES(mutex_);
    std::vector<std::unique_ptr<Queued>> gather(const std::stop_token& stop);
    void gather_held(std::vector<std::unique_ptr<Queued>>& batch) ONCEWARD_REQUIRES(mutex_);
    void hold_unfinished(std::vector<std::unique_ptr<Queued>>& batch);
    void admit(KeyTurns::Turn turn, Later& later) ONCEWARD_REQUIRES(mutex_);
    void tell_originals(std::span<const Digest> keys) ONCEWARD_EXCLUDES(mutex_);
    void answer(Queued& queued, KeyedOutcome outcome) ONCEWARD_EXCLUDES(mutex_);
    void answer_all(std::vector<std::unique_ptr<Queued>>& requests);

    SinkBatcherOptions options_;
    BatchSize size_;  // used only by the worker's thread
    Mutex mutex_;
    std::condition_variable_any wake_;        // work
    std::condition_variable_any wake_watch_;  // a deadline
    // In the order of their deadlines.
    std::deque<std::unique_ptr<Queued>> queue_ ONCEWARD_GUARDED_BY(mutex_);
    // Another process works on their keys, or has a lock that they need. In the order of their next
    // tries.
    std::deque<std::unique_ptr<Queued>> held_ ONCEWARD_GUARDED_BY(mutex_);
    std::vector<Queued*> running_ ONCEWARD_GUARDED_BY(mutex_);  // the batch that is carried out
    // The first deadline of the running requests, and of the held ones, that were not answered.
    Clock::time_point running_deadline_ ONCEWARD_GUARDED_BY(mutex_) = never;
    Clock::time_point held_deadline_ ONCEWARD_GUARDED_BY(mutex_) = never;
    // The watcher sleeps until then.
    Clock::time_point watched_ ONCEWARD_GUARDED_BY(mutex_) = never;
    StatusQuestions questions_ ONCEWARD_GUARDED_BY(mutex_);
    KeyTurns turns_ ONCEWARD_GUARDED_BY(mutex_);
    // The keys that are worked on, with the groups of their requests.
    std::unordered_map<Digest, std::uint64_t> groups_ ONCEWARD_GUARDED_BY(mutex_);
    std::uint64_t last_group_ ONCEWARD_GUARDED_BY(mutex_) = 0;
    bool stopping_ ONCEWARD_GUARDED_BY(mutex_) = false;
    std::jthread worker_;
    std::jthread watcher_;  // the last members: they use the others
};

}  // namespace onceward
