#include "cli/process/worker_slots.h"

#include <algorithm>
#include <thread>

#include "dedup/base/backoff.h"
#include "dedup/base/logging.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr Backoff restarts{.first = 2s, .longest = 1min};
// A worker that lived so long has not failed by what ended the one before it.
constexpr auto healthy_after = 1min;

}  // namespace

// Two processes under one group.instance.id fence each other: without a growing pause, for ever at
// the same pace.
std::chrono::milliseconds restart_pause(int failures) { return restarts.whole(failures); }

WorkerSlots::WorkerSlots(std::string group, std::vector<std::string> databases, Make make)
    : make_(std::move(make)), slots_(databases.size()) {
    for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].database = std::move(databases[i]);
    common_.group = std::move(group);
    common_.started = std::chrono::system_clock::now();
}

void WorkerSlots::start() {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        std::unique_ptr<Worker> worker = make_(static_cast<int>(i));
        const std::lock_guard lock(mutex_);
        slots_[i].worker = std::move(worker);
        slots_[i].begun = Clock::now();
    }
}

void WorkerSlots::tend() {
    const auto now = Clock::now();
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        Slot& slot = slots_[i];
        if (slot.worker) {
            const std::optional<std::string> ended = slot.worker->finished();
            if (!ended) continue;
            std::unique_ptr<Worker> gone;  // Ends outside of the lock: its threads are joined.
            {
                const std::lock_guard lock(mutex_);
                common_.of_ended_workers += slot.worker->status().counts;
                gone = std::move(slot.worker);
                slot.ended = *ended;
            }
            if (now - slot.begun >= healthy_after) slot.failures = 0;
            fail(slot, static_cast<int>(i));
        }
        if (!slot.worker && now >= slot.restart) restart(slot, static_cast<int>(i));
    }
}

void WorkerSlots::fail(Slot& slot, int number) {
    const auto pause = restart_pause(++slot.failures);
    slot.restart = Clock::now() + pause;
    log_error("worker.ended",
              {{"worker", number}, {"error", slot.ended}, {"retry_ms", pause.count()}});
}

// What keeps one worker from restarting must not end the others.
void WorkerSlots::restart(Slot& slot, int number) {
    try {
        std::unique_ptr<Worker> worker = make_(number);
        const std::lock_guard lock(mutex_);
        slot.worker = std::move(worker);
        slot.begun = Clock::now();
    } catch (const std::exception& error) {
        {
            const std::lock_guard lock(mutex_);
            slot.ended = error.what();
        }
        fail(slot, number);
    }
}

void WorkerSlots::drain() {
    {
        const std::lock_guard lock(mutex_);
        common_.draining = true;
    }
    std::vector<std::jthread> drains;
    for (Slot& slot : slots_) {
        if (slot.worker) drains.emplace_back([&slot] { slot.worker->stop(); });
    }
}

std::optional<FetchSuspect> WorkerSlots::suspect() const {
    const std::lock_guard lock(mutex_);
    std::optional<FetchSuspect> found;
    for (const Slot& slot : slots_) {
        if (!slot.worker) continue;
        const std::optional<FetchSuspect> mine = slot.worker->suspect();
        if (mine && (!found || likelier(*mine, *found))) found = mine;
    }
    return found;
}

ProcessStatus WorkerSlots::status() const {
    const std::lock_guard lock(mutex_);
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
