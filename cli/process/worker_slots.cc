#include "cli/process/worker_slots.h"

#include <algorithm>
#include <thread>

#include "dedup/base/backoff.h"
#include "dedup/base/expects.h"
#include "dedup/base/logging.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr Backoff restarts{.first = 2s, .longest = 1min};
// If a worker lived this long, its failure has nothing to do with the one before it.
constexpr auto healthy_after = 1min;

}  // namespace

// Two processes with the same group.instance.id fence each other. Without a growing pause they
// would do so for ever, at the same pace.
std::chrono::milliseconds restart_pause(int failures) { return restarts.whole(failures); }

WorkerSlots::WorkerSlots(std::string group, std::vector<std::string> databases, Make make)
    : make_(std::move(make)), attempts_(databases.size()), slots_(databases.size()) {
    for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].database = std::move(databases[i]);
    common_.group = std::move(group);
    common_.started = std::chrono::system_clock::now();
}

WorkerSlots::~WorkerSlots() {
    // End these before the workers that they stop.
    for (Attempts& attempts : attempts_) attempts.ending.reset();
}

WorkerSlots::Ending::~Ending() {
    if (order_ == Order::none) order_ = Order::leave;
    order_.notify_all();
}

void WorkerSlots::Ending::end() {
    order_ = Order::end;
    order_.notify_all();
}

void WorkerSlots::Ending::run(SlotWorker& worker) {
    order_.wait(Order::none);
    if (order_ != Order::end) return;
    worker.stop();
    ended_ = true;
}

void WorkerSlots::start() {
    for (std::size_t i = 0; i < attempts_.size(); ++i) begin(i, Clock::now());
}

void WorkerSlots::begin(std::size_t number, Clock::time_point now) {
    Attempts& attempts = attempts_[number];
    std::unique_ptr<SlotWorker> next = std::move(attempts.next);
    if (!next) next = make_(number);
    next->start();
    attempts.begun = now;
    attempts.renewing = false;
    const MutexLock lock(mutex_);
    slots_[number].worker = std::move(next);
}

// The worker stays there: no thread but the caller's replaces it.
SlotWorker* WorkerSlots::worker(std::size_t number) const {
    const MutexLock lock(mutex_);
    return slots_[number].worker.get();
}

void WorkerSlots::tend(Clock::time_point now) {
    for (std::size_t i = 0; i < attempts_.size(); ++i) {
        if (attempts_[i].ending) {
            if (!attempts_[i].ending->ended()) continue;
            attempts_[i].ending.reset();
            remove(i, "the configuration was reloaded");
        }
        if (const SlotWorker* running = worker(i)) {
            const std::optional<std::string> ended = running->finished();
            if (!ended) continue;
            if (now - attempts_[i].begun >= healthy_after) attempts_[i].failures = 0;
            fail(i, *ended, now);
        }
        if (worker(i) != nullptr || now < attempts_[i].restart) continue;
        // What keeps one worker from restarting must not end the others.
        try {
            begin(i, now);
        } catch (const std::exception& error) {
            fail(i, error.what(), now);
        }
    }
}

void WorkerSlots::remove(std::size_t number, const std::string& why) {
    std::unique_ptr<SlotWorker> gone;  // Ends outside of the lock: its threads are joined.
    const MutexLock lock(mutex_);
    Slot& slot = slots_[number];
    if (slot.worker) common_.of_ended_workers += slot.worker->status().counts;
    gone = std::move(slot.worker);
    slot.ended = why;
}

void WorkerSlots::renew(const std::vector<std::size_t>& numbers, const Make& make) {
    expects(!renewing(), "one renewal at a time");
    std::vector<Attempts> renewed(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        // A failed worker is made again without its pause: the pause was the old worker's.
        renewed[i].renewing = true;
        renewed[i].next = make(numbers[i]);
        if (SlotWorker* const running = worker(numbers[i])) {
            renewed[i].ending = std::make_unique<Ending>(*running);
        }
    }
    // DANGER: nothing below may fail. Otherwise some workers would have the new configuration and
    // others the old one, which nobody has configured.
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        attempts_[numbers[i]] = std::move(renewed[i]);
        if (attempts_[numbers[i]].ending) attempts_[numbers[i]].ending->end();
    }
}

bool WorkerSlots::renewing() const {
    return std::ranges::any_of(attempts_, &Attempts::renewing);
}

void WorkerSlots::fail(std::size_t number, const std::string& why, Clock::time_point now) {
    remove(number, why);
    const auto pause = restart_pause(++attempts_[number].failures);
    attempts_[number].restart = now + pause;
    log_error("worker.ended", {{"worker", number}, {"error", why}, {"retry_ms", pause.count()}});
}

void WorkerSlots::drain() {
    {
        const MutexLock lock(mutex_);
        common_.draining = true;
    }
    std::vector<std::jthread> drains;
    for (std::size_t i = 0; i < attempts_.size(); ++i) {
        attempts_[i].next.reset();
        if (attempts_[i].ending) {
            drains.emplace_back([&ending = attempts_[i].ending] { ending.reset(); });
        } else if (SlotWorker* running = worker(i)) {
            drains.emplace_back([running] { running->stop(); });
        }
    }
}

std::optional<FetchSuspect> WorkerSlots::suspect() const {
    const MutexLock lock(mutex_);
    std::optional<FetchSuspect> found;
    for (const Slot& slot : slots_) {
        if (!slot.worker) continue;
        const std::optional<FetchSuspect> mine = slot.worker->suspect();
        if (mine && (!found || likelier(*mine, *found))) found = mine;
    }
    return found;
}

ProcessStatus WorkerSlots::status() const {
    const MutexLock lock(mutex_);
    ProcessStatus status = common_;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        WorkerState state;
        state.number = static_cast<int>(i);
        state.database = slots_[i].database;
        state.ended = slots_[i].ended;
        if (slots_[i].worker) state.status = slots_[i].worker->status();
        status.workers.push_back(std::move(state));
    }
    return status;
}

}  // namespace onceward
