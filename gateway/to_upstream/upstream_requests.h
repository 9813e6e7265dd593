#pragma once
// Carries requests to an upstream, each by itself. One for each route, with a thread, a session and
// a client for each call that may be under way. Thread-safe; every request is answered once. A
// request that waited for its turn as long as `patience` gets an answer that says so, and is never
// sent. Of several requests with one key in this process one is carried out, and the others wait or
// get 409. A request whose key another process has in flight is tried again for as long as it
// waits.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "dedup/base/mutex.h"
#include "gateway/requests/key_turns.h"
#include "gateway/requests/status_questions.h"
#include "gateway/to_upstream/upstream_session.h"

namespace onceward {

class UpstreamRequests final : public RequestTarget {
  public:
    explicit UpstreamRequests(UpstreamRequestOptions options);
    // Requests that still wait get a 503; calls under way are waited for, up to their time-out.
    ~UpstreamRequests() override;
    // Carries out each request in transactions of its own.
    void submit(std::vector<KeyedRequest> requests, Then then) override;
    void look(std::size_t route, const Digest& key,
              std::function<void(StatusOutcome)> then) override;
    std::int64_t calls_under_way() const { return calls_; }
    const std::string& name() const { return options_.name; }

  private:
    using Clock = std::chrono::steady_clock;
    struct Queued {
        KeyedRequest request;
        Asking asking;
        Clock::time_point deadline;
        Clock::time_point wait_until;  // for others of its key
        // For a request whose key another process has in flight.
        Clock::time_point next_try{};
        KeyedOutcome known{};  // its answer at the last try
        RequestState state = RequestState::queued;
    };
    void admit(KeyTurns::Turn turn, ToldLater& told) ONCEWARD_REQUIRES(mutex_);
    void answer(const Digest& key, Queued& queued, UpstreamSession::Carried carried)
        ONCEWARD_EXCLUDES(mutex_);
    void run(const std::stop_token& stop);
    // Has neither of the two if a stop is requested.
    struct Work {
        std::optional<Queued> request{};
        std::optional<ClaimInDoubt> in_doubt{};
        explicit operator bool() const { return request || in_doubt; }
    };
    Work next_work(const std::stop_token& stop);
    // Returns the queue whose first request is to be taken now; null if there is none.
    std::deque<Queued>* next_queue(Clock::time_point now) ONCEWARD_REQUIRES(mutex_);
    void tell_original(const Digest& key);
    bool release_in_doubt(const ClaimInDoubt& claim, std::unique_ptr<UpstreamSession>& session,
                          const std::stop_token& stop);
    void release_later(const ClaimInDoubt& claim);
    bool hold(Queued& queued, UpstreamSession::Carried& carried);
    std::vector<Queued> take_overdue(Clock::time_point now) ONCEWARD_REQUIRES(mutex_);
    Clock::time_point next_deadline() const ONCEWARD_REQUIRES(mutex_);
    void watch(const std::stop_token& stop);
    void ask(const std::stop_token& stop);

    UpstreamRequestOptions options_;
    std::atomic<std::int64_t> calls_{0};
    Mutex mutex_;
    std::condition_variable_any wake_;        // work
    std::condition_variable_any wake_watch_;  // a deadline
    std::condition_variable_any wake_asker_;  // a question
    // In the order of their deadlines.
    std::deque<Queued> queue_ ONCEWARD_GUARDED_BY(mutex_);
    // In flight in another process; in the order of their next tries.
    std::deque<Queued> held_ ONCEWARD_GUARDED_BY(mutex_);
    bool held_turn_ ONCEWARD_GUARDED_BY(mutex_) = false;  // the last one taken was held
    // Claims that no call needs: they are released again and again until PostgreSQL answers.
    std::deque<ClaimInDoubt> in_doubt_ ONCEWARD_GUARDED_BY(mutex_);
    Clock::time_point next_release_ ONCEWARD_GUARDED_BY(mutex_){};
    KeyTurns turns_ ONCEWARD_GUARDED_BY(mutex_);
    bool stopping_ ONCEWARD_GUARDED_BY(mutex_) = false;
    StatusQuestions questions_ ONCEWARD_GUARDED_BY(mutex_);
    std::vector<std::jthread> workers_;
    // Started for the first question. It has a session of its own, so that no query waits for a
    // call.
    std::jthread asker_ ONCEWARD_GUARDED_BY(mutex_);
    std::jthread watcher_;  // the last members: they use the others
};

}  // namespace onceward
