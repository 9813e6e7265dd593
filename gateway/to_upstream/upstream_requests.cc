#include "gateway/to_upstream/upstream_requests.h"

#include <algorithm>
#include <functional>

#include "dedup/base/logging.h"
#include "gateway/requests/by_deadline.h"

namespace onceward {
namespace {

// Between the checks of a key that another process has in flight.
constexpr std::chrono::milliseconds looked_for_again{50};
// The pause between two tries to release a claim in doubt.
constexpr std::chrono::seconds release_every{1};

}  // namespace

UpstreamRequests::UpstreamRequests(UpstreamRequestOptions options) : options_(std::move(options)) {
    options_.calls = &calls_;
    options_.original = [this](const Digest& key) { tell_original(key); };
    for (std::size_t i = 0; i < options_.upstream.concurrency; ++i) {
        workers_.emplace_back([this](const std::stop_token& stop) { run(stop); });
    }
    watcher_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

UpstreamRequests::~UpstreamRequests() {
    {
        const MutexLock lock(mutex_);
        stopping_ = true;
    }
    for (std::jthread& worker : workers_) worker.request_stop();
    for (std::jthread& worker : workers_) worker.join();
    asker_.request_stop();
    if (asker_.joinable()) asker_.join();
    watcher_.request_stop();
    watcher_.join();
    tell(questions_.take_all());
    for (auto* left : {&queue_, &held_}) {
        for (Queued& queued : *left) {
            answer(queued.request.digest, queued, {.outcome = ask_again_soon()});
        }
    }
}

void UpstreamRequests::submit(std::vector<KeyedRequest> requests, Then then) {
    const auto shared = std::make_shared<const Then>(std::move(then));
    const auto now = Clock::now();
    for (std::size_t place = 0; place < requests.size(); ++place) {
        const Asking asking{shared, place};
        ToldLater told;
        if (may_be_forwarded(requests[place].request.target)) {
            const MutexLock lock(mutex_);
            admit({asking, std::move(requests[place]), 0, now}, told);
        } else {
            told.emplace_back(asking, Problem{.kind = ProblemKind::malformed_request,
                                              .detail = "The path is not accepted."});
        }
        tell(told);
    }
}

void UpstreamRequests::look(std::size_t, const Digest& key,
                            std::function<void(StatusOutcome)> then) {
    StatusQuestion::Then asked = then;
    {
        const MutexLock lock(mutex_);
        const bool running = turns_.runs(key);
        const bool original = turns_.runs_original(key);
        if (!stopping_) {
            asked = [running, original, then = std::move(then)](StatusOutcome known) {
                if (original) return then(while_running(std::move(known)));
                then(running ? while_looked_up(std::move(known)) : std::move(known));
            };
            if (!asker_.joinable()) {
                asker_ = std::jthread([this](const std::stop_token& stop) { ask(stop); });
            }
            if (questions_.ask(key, asked, Clock::now() + options_.patience, options_.waiting)) {
                wake_asker_.notify_one();
                wake_watch_.notify_one();
                return;
            }
        }
    }
    asked(ask_again_soon());
}

// Queries that wait together are one statement.
void UpstreamRequests::ask(const std::stop_token& stop) {
    UpstreamStatus status(options_);
    while (true) {
        std::vector<StatusQuestions::Pointer> questions;
        {
            MutexLock lock(mutex_);
            wake_asker_.wait(lock, stop,
                             [&]() ONCEWARD_REQUIRES(mutex_) { return !questions_.none_unread(); });
            if (stop.stop_requested()) return;
            questions = questions_.take_unread();
        }
        tell(questions, status.look(keys_of(questions)));
    }
}

// A request that waited for another one keeps the deadline that its arrival gave it.
void UpstreamRequests::admit(KeyTurns::Turn turn, ToldLater& told) {
    const auto now = Clock::now();
    if (stopping_ || queue_.size() + turns_.waiting() >= options_.waiting) {
        told.emplace_back(std::move(turn.asking), ask_again_soon());
        return;
    }
    const auto until = turn.arrived + std::min(options_.wait, options_.patience);
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(until - now);
    std::optional<KeyTurns::Turn> next = turns_.admit(std::move(turn), wait, now, told);
    if (!next) return wake_watch_.notify_one();
    const auto deadline = next->arrived + options_.patience;
    if (queue_.empty() || deadline < queue_.front().deadline) wake_watch_.notify_one();
    insert_by_deadline(queue_,
                       {.request = std::move(next->request),
                        .asking = std::move(next->asking),
                        .deadline = deadline,
                        .wait_until = until,
                        .state = next->state},
                       [](const Queued& one) { return one.deadline; });
    wake_.notify_one();
}

// Held requests that are due take turns with new ones. Many held keys would otherwise keep new
// calls from beginning for as long as they are held.
std::deque<UpstreamRequests::Queued>* UpstreamRequests::next_queue(Clock::time_point now) {
    const bool due = !held_.empty() && held_.front().next_try <= now;
    if (!due && queue_.empty()) return nullptr;
    held_turn_ = due && (queue_.empty() || !held_turn_);
    return held_turn_ ? &held_ : &queue_;
}

UpstreamRequests::Work UpstreamRequests::next_work(const std::stop_token& stop) {
    MutexLock lock(mutex_);
    while (!stop.stop_requested()) {
        if (!in_doubt_.empty() && next_release_ <= Clock::now()) {
            Work work{.in_doubt = in_doubt_.front()};
            in_doubt_.pop_front();
            if (!queue_.empty() || !held_.empty()) wake_.notify_one();
            return work;
        }
        if (std::deque<Queued>* ready = next_queue(Clock::now())) {
            Work work{.request = std::move(ready->front())};
            ready->pop_front();
            change(work.request->state, RequestEvent::take);
            // This thread is busy from now on, and the notification may have been for another
            // request.
            if (!queue_.empty() || !held_.empty() || !in_doubt_.empty()) wake_.notify_one();
            return work;
        }
        const auto next_try = [&]() ONCEWARD_REQUIRES(mutex_) {
            const auto held = held_.empty() ? never : held_.front().next_try;
            return in_doubt_.empty() ? held : std::min(held, next_release_);
        };
        const auto next = next_try();
        wake_.wait_until(lock, stop, next, [&]() ONCEWARD_REQUIRES(mutex_) {
            return !queue_.empty() || next_try() != next;
        });
    }
    return {};
}

void UpstreamRequests::tell_original(const Digest& key) {
    ToldLater told;
    {
        const MutexLock lock(mutex_);
        turns_.original(key, Clock::now(), told);
    }
    tell(told);
}

// Its client was told that the request may be sent again.
void UpstreamRequests::release_later(const ClaimInDoubt& claim) {
    const MutexLock lock(mutex_);
    in_doubt_.push_back(claim);
    next_release_ = Clock::now() + release_every;
    wake_.notify_one();
}

// Returns false if the key is not in flight elsewhere, or the request has waited long enough.
bool UpstreamRequests::hold(Queued& queued, UpstreamSession::Carried& carried) {
    const auto next = Clock::now() + looked_for_again;
    if (!carried.elsewhere || next >= queued.wait_until) return false;
    change(queued.state, RequestEvent::hold);
    queued.known = std::move(carried.outcome);
    queued.next_try = next;
    const MutexLock lock(mutex_);
    held_.push_back(std::move(queued));
    wake_.notify_one();
    wake_watch_.notify_one();
    return true;
}

bool UpstreamRequests::release_in_doubt(const ClaimInDoubt& claim,
                                        std::unique_ptr<UpstreamSession>& session,
                                        const std::stop_token& stop) try {
    if (!session) session = std::make_unique<UpstreamSession>(options_, stop);
    return session->release_in_doubt(claim);
} catch (const std::exception& error) {
    log_error("http.upstream_failed", {{"route", options_.name}, {"error", error.what()}});
    session.reset();
    return false;
}

void UpstreamRequests::run(const std::stop_token& stop) {
    std::unique_ptr<UpstreamSession> session;
    while (Work work = next_work(stop)) {
        if (work.in_doubt) {
            if (!release_in_doubt(*work.in_doubt, session, stop)) release_later(*work.in_doubt);
            continue;
        }
        std::optional<Queued>& queued = work.request;
        const Digest key = queued->request.digest;
        // DANGER: make no call after the deadline. The client has given up, or is being asked right
        // now to send the request again.
        if (queued->deadline <= Clock::now()) {
            answer(key, *queued, {.outcome = ask_again_soon()});
            continue;
        }
        UpstreamSession::Carried carried{.outcome = ask_again_later()};
        try {
            if (!session) session = std::make_unique<UpstreamSession>(options_, stop);
            carried = session->carry_out(queued->request, queued->deadline);
        } catch (const std::exception& error) {
            // Failures other than PostgreSQL's: a schema of another version, a ledger with another
            // store.
            log_error("http.upstream_failed", {{"route", options_.name}, {"error", error.what()}});
            session.reset();
        }
        const std::optional<ClaimInDoubt> in_doubt = carried.in_doubt;
        if (!hold(*queued, carried)) answer(key, *queued, std::move(carried));
        if (in_doubt) release_later(*in_doubt);
    }
}

// Requests that share the answer get it as a replay if it was stored. The others take their turn.
void UpstreamRequests::answer(const Digest& key, Queued& queued, UpstreamSession::Carried carried) {
    change(queued.state, RequestEvent::decide);
    KeyedOutcome repeated = carried.outcome;
    bool is_kept = false;
    if (auto* answered = std::get_if<KeyedAnswer>(&repeated)) {
        if (carried.stored) answered->state = KeyState::replayed;
        is_kept = answered->state != KeyState::fresh;
    }
    const HttpRequest* const ran = is_kept ? nullptr : &queued.request.request;
    ToldLater told;
    told.emplace_back(std::move(queued.asking), std::move(carried.outcome));
    {
        const MutexLock lock(mutex_);
        for (KeyTurns::Turn& turn : turns_.end(key, repeated, carried.as_of, told, ran)) {
            admit(std::move(turn), told);
        }
    }
    tell(told);
}

UpstreamRequests::Clock::time_point UpstreamRequests::next_deadline() const {
    auto next = std::min(turns_.next_deadline(), questions_.next_deadline());
    if (!queue_.empty()) next = std::min(next, queue_.front().deadline);
    for (const Queued& held : held_) next = std::min(next, held.wait_until);
    return next;
}

// Takes the requests that are overdue, each with its answer in `known`.
std::vector<UpstreamRequests::Queued> UpstreamRequests::take_overdue(Clock::time_point now) {
    std::vector<Queued> overdue;
    while (!queue_.empty() && queue_.front().deadline <= now) {
        overdue.push_back(std::move(queue_.front()));
        overdue.back().known = ask_again_soon();
        queue_.pop_front();
    }
    const auto waited = [&](const Queued& held) { return held.wait_until <= now; };
    const auto late = std::ranges::stable_partition(held_, std::not_fn(waited));
    std::ranges::move(late, std::back_inserter(overdue));
    held_.erase(late.begin(), late.end());
    return overdue;
}

// A call may take long; a request that waits for it, or for its turn after it, must not wait longer
// than it asked to.
void UpstreamRequests::watch(const std::stop_token& stop) {
    MutexLock lock(mutex_);
    while (!stop.stop_requested()) {
        const auto next = next_deadline();
        wake_watch_.wait_until(lock, stop, next,
                               [&]() ONCEWARD_REQUIRES(mutex_) { return next_deadline() != next; });
        ToldLater late = turns_.late(Clock::now());
        std::vector<Queued> overdue = take_overdue(Clock::now());
        // PostgreSQL may hang for ever; a query is answered then anyway.
        const auto questions = questions_.take_overdue(Clock::now());
        lock.unlock();
        tell(late);
        tell(questions);
        for (Queued& one : overdue) {
            answer(one.request.digest, one, {.outcome = std::move(one.known)});
        }
        lock.lock();
    }
}

}  // namespace onceward
