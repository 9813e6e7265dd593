#include "gateway/to_sink/sink_batcher.h"

#include <utility>

#include "dedup/base/logging.h"
#include "gateway/requests/by_deadline.h"

namespace onceward {
namespace {

// Between the tries of a request whose key another process works on, or that a lock keeps out.
constexpr std::chrono::milliseconds held_for{50};
// How long after its deadline a request in a transaction is answered, unless the transaction
// answers first.
constexpr std::chrono::seconds grace{1};
// That many batches fit into a request's deadline, or into the limit of a statement.
constexpr int batches = 20;

}  // namespace

struct SinkBatcher::Queued : WaitingRequest {
    std::optional<Asking> asking;  // nullopt once it was answered
    std::uint64_t group = 0;
    Clock::time_point next_try{};
};

namespace {

// The first deadline of those that were not answered yet.
template <class Batch>
std::chrono::steady_clock::time_point first_deadline(const Batch& batch) {
    auto first = never;
    for (const auto& queued : batch) {
        if (queued->asking) first = std::min(first, queued->deadline + grace);
    }
    return first;
}

}  // namespace

// A request that arrives while a batch runs must be answered long before its deadline, so a batch
// may take only a small share of that time.
SinkBatcher::SinkBatcher(SinkBatcherOptions options)
    : options_(std::move(options)),
      size_(options_.batch,
            std::min(options_.longest_request, options_.postgres.statement_timeout) / batches) {
    options_.originals = [this](std::span<const Digest> keys) { tell_originals(keys); };
    worker_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    watcher_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

SinkBatcher::~SinkBatcher() {
    {
        const MutexLock lock(mutex_);
        stopping_ = true;
    }
    worker_.request_stop();
    worker_.join();
    watcher_.request_stop();
    watcher_.join();
    for (auto* left : {&queue_, &held_}) {
        for (auto& queued : *left) answer(*queued, ask_again_soon());
    }
    tell(questions_.take_all());
}

void SinkBatcher::submit(std::vector<KeyedRequest> requests, Then then) {
    const auto shared = std::make_shared<const Then>(std::move(then));
    Later later;
    {
        const MutexLock lock(mutex_);
        const std::uint64_t group = ++last_group_;
        const auto now = Clock::now();
        const std::size_t waiting = queue_.size() + held_.size() + turns_.waiting();
        const bool room = !stopping_ && waiting + requests.size() <= options_.waiting;
        for (std::size_t place = 0; place < requests.size(); ++place) {
            const Asking asking{shared, place};
            if (room) {
                admit({asking, std::move(requests[place]), group, now}, later);
            } else {
                later.told.emplace_back(asking, ask_again_soon());
            }
        }
    }
    finish(later);
}

void SinkBatcher::finish(Later& later) {
    if (later.work) wake_.notify_one();
    if (later.deadline) wake_watch_.notify_one();
    tell(later.told);
}

// A request that waited for another one keeps the deadline that its arrival gave it.
void SinkBatcher::admit(KeyTurns::Turn turn, Later& later) {
    const auto now = Clock::now();
    // The requests of one bulk are in one transaction: a repeat among them waits up to its
    // deadline.
    const auto known = groups_.find(turn.request.digest);
    const bool own = known != groups_.end() && known->second == turn.group;
    const auto until = turn.arrived + std::min(options_.wait, options_.longest_request);
    const auto deadline = turn.arrived + options_.longest_request;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>((own ? deadline : until) - now);
    std::optional<KeyTurns::Turn> next = turns_.admit(std::move(turn), wait, now, later.told);
    if (!next) {
        later.deadline = later.deadline || is_earlier_deadline();
        return;
    }
    groups_[next->request.digest] = next->group;
    auto queued = std::make_unique<Queued>();
    queued->request = std::move(next->request);
    queued->attempt = random_digest();
    queued->is_known = next->key_is_known;
    queued->state = next->state;
    queued->asking = std::move(next->asking);
    queued->group = next->group;
    queued->deadline = deadline;
    queued->wait_until = until;
    insert_by_deadline(queue_, std::move(queued), [](const auto& one) { return one->deadline; });
    later.work = true;
    later.deadline = later.deadline || is_earlier_deadline();
}

std::vector<std::unique_ptr<SinkBatcher::Queued>> SinkBatcher::gather(const std::stop_token& stop) {
    MutexLock lock(mutex_);
    const auto work = [&]() ONCEWARD_REQUIRES(mutex_) {
        return !queue_.empty() || !questions_.none_unread();
    };
    wake_.wait_until(lock, stop, held_.empty() ? never : held_.front()->next_try, work);
    std::vector<std::unique_ptr<Queued>> batch;
    // What was submitted together stays together.
    while (!queue_.empty() &&
           (batch.size() < size_.next() || queue_.front()->group == batch.back()->group)) {
        batch.push_back(std::move(queue_.front()));
        queue_.pop_front();
    }
    gather_held(batch);
    for (const auto& queued : batch) running_.push_back(queued.get());
    running_deadline_ = first_deadline(running_);
    if (is_earlier_deadline()) wake_watch_.notify_one();
    return batch;
}

// Takes the requests that have waited long enough and must be answered, and one more to be tried.
// Only one: a try may take its whole patience, and the next batch waits for it.
void SinkBatcher::gather_held(std::vector<std::unique_ptr<Queued>>& batch) {
    const auto now = Clock::now();
    bool tries = false;
    for (auto& queued : held_) {
        const bool over = queued->held_until() <= now;
        if (!over && (tries || queued->next_try > now)) continue;
        tries = tries || !over;
        batch.push_back(std::move(queued));
    }
    std::erase(held_, nullptr);
    held_deadline_ = first_deadline(held_);
}

void SinkBatcher::hold_unfinished(std::vector<std::unique_ptr<Queued>>& batch) {
    std::vector<Digest> elsewhere;
    {
        const MutexLock lock(mutex_);
        for (auto& queued : batch) {
            if (queued->state == RequestState::decided) continue;
            std::erase(running_, queued.get());
            queued->next_try = Clock::now() + held_for;
            elsewhere.push_back(queued->request.digest);
            held_.push_back(std::move(queued));
        }
        std::erase(batch, nullptr);
        held_deadline_ = first_deadline(held_);
    }
    // Only an original makes others wait: it has claimed the key and not committed.
    tell_originals(elsewhere);
}

void SinkBatcher::tell_originals(std::span<const Digest> keys) {
    Later later;
    {
        const MutexLock lock(mutex_);
        for (const Digest& key : keys) {
            turns_.original(key, Clock::now(), later.told);
        }
        // Requests that waited for the ledger's answer may have asked for a shorter wait.
        later.deadline = is_earlier_deadline();
    }
    finish(later);
}

void SinkBatcher::run(const std::stop_token& stop) {
    std::unique_ptr<SinkSession> session;
    while (!stop.stop_requested()) {
        std::vector<std::unique_ptr<Queued>> batch = gather(stop);
        try {
            if (!session) session = std::make_unique<SinkSession>(options_, stop);
            std::vector<WaitingRequest*> requests;
            for (const auto& queued : batch) requests.push_back(queued.get());
            const auto begun = Clock::now();
            if (!requests.empty()) session->carry_out(requests);
            size_.took(requests.size(), Clock::now() - begun);
            hold_unfinished(batch);
        } catch (const std::exception& error) {
            // Failures other than PostgreSQL's: a schema of another version, a ledger with another
            // store, a format that cannot be set up.
            log_error("http.batch_failed", {{"route", options_.name}, {"error", error.what()}});
        }
        answer_all(batch);
        std::vector<StatusQuestions::Pointer> questions;
        {
            const MutexLock lock(mutex_);
            questions = questions_.take_unread();
        }
        if (questions.empty()) continue;
        // Queries follow a batch, in its session: what they report was committed.
        tell(questions, session ? session->look(keys_of(questions)) : std::nullopt);
    }
}

void SinkBatcher::look(std::size_t, const Digest& key, std::function<void(StatusOutcome)> then) {
    StatusOutcome outcome = ask_again_soon();
    {
        const MutexLock lock(mutex_);
        // The running request may be a repeat: then the ledger knows what became of the key.
        StatusQuestion::Then asked = [this, key, then](StatusOutcome known) {
            bool runs = false;
            {
                const MutexLock running(mutex_);
                runs = turns_.runs(key);
            }
            then(runs ? while_looked_up(std::move(known)) : std::move(known));
        };
        if (turns_.runs_original(key)) {
            outcome = KeyStatus{.state = KeyStatus::State::in_flight};
        } else if (!stopping_ && questions_.ask(key, asked, Clock::now() + options_.longest_request,
                                                options_.waiting)) {
            wake_.notify_one();
            if (is_earlier_deadline()) wake_watch_.notify_one();
            return;
        }
    }
    then(std::move(outcome));
}

void SinkBatcher::answer_all(std::vector<std::unique_ptr<Queued>>& requests) {
    {
        // From here on nothing else answers them.
        const MutexLock lock(mutex_);
        running_.clear();
        running_deadline_ = never;
    }
    for (auto& queued : requests) {
        if (queued->state != RequestState::decided) queued->outcome = ask_again_later();
        answer(*queued, std::move(queued->outcome));
    }
}

// Requests that share the answer get it as a replay. The others take their turn.
void SinkBatcher::answer(Queued& queued, KeyedOutcome outcome) {
    RequestState& state = queued.state;
    if (state != RequestState::decided) change(state, RequestEvent::decide);
    const Digest key = queued.request.digest;
    const auto as_of = queued.as_of;
    KeyedOutcome repeated = outcome;
    if (auto* answered = std::get_if<KeyedAnswer>(&repeated)) {
        if (answered->state == KeyState::fresh) answered->state = KeyState::replayed;
    }
    // No problem is stored: it is about this request alone.
    const bool is_kept = !std::holds_alternative<Problem>(outcome);
    const HttpRequest* const ran = is_kept ? nullptr : &queued.request.request;
    Later later;
    if (queued.asking) later.told.emplace_back(std::move(*queued.asking), std::move(outcome));
    {
        const MutexLock lock(mutex_);
        groups_.erase(key);
        for (KeyTurns::Turn& turn : turns_.end(key, repeated, as_of, later.told, ran)) {
            if (stopping_) {
                later.told.emplace_back(std::move(turn.asking), ask_again_soon());
            } else {
                admit(std::move(turn), later);
            }
        }
    }
    finish(later);
}

SinkBatcher::Clock::time_point SinkBatcher::next_deadline() const {
    return std::min({turns_.next_deadline(), running_deadline_, held_deadline_,
                     questions_.next_deadline(),
                     queue_.empty() ? never : queue_.front()->deadline});
}

// Takes the requests past their deadline from the running batch, and from those that are held until
// it ends. The batch may never end: its COMMIT can wait for a standby, or the server can be silent.
// The keys stay in flight.
std::vector<Asking> SinkBatcher::tell_late(Clock::time_point now) {
    std::vector<Asking> late;
    if (std::min(running_deadline_, held_deadline_) > now) return late;
    const auto take_late = [&](Queued& queued) {
        if (!queued.asking || queued.deadline + grace > now) return;
        late.push_back(*std::exchange(queued.asking, std::nullopt));
    };
    for (Queued* queued : running_) take_late(*queued);
    for (const auto& queued : held_) take_late(*queued);
    running_deadline_ = first_deadline(running_);
    held_deadline_ = first_deadline(held_);
    return late;
}

// Requests that were submitted together are taken together, as their effects would be.
std::vector<std::unique_ptr<SinkBatcher::Queued>> SinkBatcher::take_overdue(Clock::time_point now) {
    std::vector<std::unique_ptr<Queued>> overdue;
    while (!queue_.empty() &&
           (queue_.front()->deadline <= now ||
            (!overdue.empty() && queue_.front()->group == overdue.back()->group))) {
        overdue.push_back(std::move(queue_.front()));
        queue_.pop_front();
    }
    return overdue;
}

// A batch may take long; a request that waits for it, or for its turn after it, must not wait
// longer than it asked to.
void SinkBatcher::watch(const std::stop_token& stop) {
    MutexLock lock(mutex_);
    while (!stop.stop_requested()) {
        // A deadline that has moved to a later time still wakes the watcher: once for each such
        // deadline, not once for each request.
        watched_ = next_deadline();
        wake_watch_.wait_until(lock, stop, watched_,
                               [&]() ONCEWARD_REQUIRES(mutex_) { return is_earlier_deadline(); });
        ToldLater late = turns_.late(Clock::now());
        const std::vector<Asking> unanswered = tell_late(Clock::now());
        const auto questions = questions_.take_overdue(Clock::now());
        std::vector<std::unique_ptr<Queued>> overdue = take_overdue(Clock::now());
        lock.unlock();
        tell(late);
        for (const Asking& one : unanswered) one.tell(ask_again_later());
        tell(questions);
        for (const auto& one : overdue) answer(*one, ask_again_soon());
        lock.lock();
    }
}

}  // namespace onceward
