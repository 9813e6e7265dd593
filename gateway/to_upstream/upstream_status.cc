#include "gateway/to_upstream/upstream_status.h"

#include <utility>

#include "dedup/base/logging.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

ConnectionOptions status_session(ConnectionOptions options) {
    options.application_name += " status";
    return options;
}

}  // namespace

UpstreamStatus::UpstreamStatus(const UpstreamRequestOptions& options)
    : options_(options),
      session_(
          {.connection = status_session(options.postgres), .forget = [this] { results_.reset(); }}),
      thread_([this](const std::stop_token& stop) { run(stop); }),
      watcher_([this](const std::stop_token& stop) { watch(stop); }) {}

UpstreamStatus::~UpstreamStatus() {
    thread_.request_stop();
    thread_.join();
    watcher_.request_stop();
    watcher_.join();
    for (const auto& question : questions_.take_all()) question->tell(ask_again_soon());
}

void UpstreamStatus::look(const Digest& key, Then then) {
    {
        const MutexLock lock(mutex_);
        if (questions_.ask(key, then, StatusQuestion::Clock::now() + options_.patience,
                           options_.waiting)) {
            wake_.notify_one();
            wake_watch_.notify_one();
            return;
        }
    }
    then(ask_again_soon());
}

void UpstreamStatus::run(const std::stop_token& stop) {
    while (true) {
        Questions questions;
        {
            MutexLock lock(mutex_);
            wake_.wait(lock, stop,
                       [&]() ONCEWARD_REQUIRES(mutex_) { return !questions_.none_unread(); });
            if (stop.stop_requested()) return;
            questions = questions_.take_unread();
        }
        answer(questions);
    }
}

// PostgreSQL may hang for ever; the query is answered then anyway.
void UpstreamStatus::watch(const std::stop_token& stop) {
    MutexLock lock(mutex_);
    while (!stop.stop_requested()) {
        const auto next = questions_.next_deadline();
        wake_watch_.wait_until(lock, stop, next, [&]() ONCEWARD_REQUIRES(mutex_) {
            return questions_.next_deadline() != next;
        });
        const Questions overdue = questions_.take_overdue(StatusQuestion::Clock::now());
        lock.unlock();
        for (const auto& question : overdue) question->tell(ask_again_soon());
        lock.lock();
    }
}

void UpstreamStatus::answer(const Questions& questions) {
    const bool new_session = !session_;
    std::optional<std::vector<StatusOutcome>> known = read(questions);
    // A session that was not used for long may be gone.
    if (!known && !new_session) known = read(questions);
    for (std::size_t i = 0; i < questions.size(); ++i) {
        questions[i]->tell(known ? std::move((*known)[i]) : StatusOutcome(ask_again_soon()));
    }
}

std::optional<std::vector<StatusOutcome>> UpstreamStatus::read(const Questions& questions) try {
    session_.open();
    std::vector<Digest> keys;
    for (const auto& question : questions) keys.push_back(question->key);
    return statuses(keys);
} catch (const std::exception& error) {
    log_warning("http.look_failed", {{"route", options_.name}, {"error", error.what()}});
    session_.end();
    return std::nullopt;
}

std::vector<StatusOutcome> UpstreamStatus::statuses(const std::vector<Digest>& keys) {
    const QueryResult rows =
        session_->query(sql::lease_status, Parameters{}.text(options_.ledger.name).digests(keys));
    std::vector<StatusOutcome> known(keys.size());
    std::vector<Digest> ended;
    std::vector<std::size_t> places;
    for (int row = 0; row < rows.rows(); ++row) {
        const auto place = static_cast<std::size_t>(rows.integer(row, 0) - 1);
        const LeaseSeen lease{.in_flight = rows.integer(row, 1) == 1,
                              .left = std::chrono::milliseconds(rows.integer(row, 2)),
                              .status = static_cast<int>(rows.integer(row, 3))};
        known[place] = status_of_lease(lease);
        if (lease.in_flight) continue;
        ended.push_back(keys[place]);
        places.push_back(place);
    }
    if (ended.empty()) return known;
    // Read after the leases: an answer is committed together with its lease's end, so one that is
    // missing here was there and is gone.
    if (!results_) {
        results_ = std::make_unique<ResultStore>(static_cast<int>(rows.integer(0, 4)),
                                                 options_.ledger.store);
    }
    const auto answers = results_->get(*session_, ended);
    for (std::size_t i = 0; i < ended.size(); ++i) {
        if (!answers[i]) known[places[i]] = Problem{.kind = ProblemKind::answer_gone};
    }
    return known;
}

}  // namespace onceward
