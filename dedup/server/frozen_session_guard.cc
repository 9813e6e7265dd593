#include "dedup/server/frozen_session_guard.h"

#include <algorithm>
#include <vector>

#include "dedup/base/logging.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::chrono::seconds silence{5};

FrozenSessionGuardOptions bounded(FrozenSessionGuardOptions options) {
    const auto lock_timeout = options.connection.lock_timeout;
    if (lock_timeout.count() > 0) options.limit = std::min(options.limit, lock_timeout / 2);
    options.connection.application_name += " guard";
    return options;
}

}  // namespace

FrozenSessionGuard::FrozenSessionGuard(FrozenSessionGuardOptions options)
    : options_(bounded(std::move(options))),
      session_({.connection = options_.connection, .forget = [this] { holders_.clear(); }}),
      thread_([this] { run(); }) {}

FrozenSessionGuard::~FrozenSessionGuard() {
    {
        const MutexLock lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void FrozenSessionGuard::watch(int pid) {
    const MutexLock lock(mutex_);
    watched_.insert(pid);
}

void FrozenSessionGuard::forget(int pid) {
    const MutexLock lock(mutex_);
    watched_.erase(pid);
}

std::uint64_t FrozenSessionGuard::ended() const {
    const MutexLock lock(mutex_);
    return ended_;
}

std::uint64_t FrozenSessionGuard::alerts() const {
    const MutexLock lock(mutex_);
    return alerts_;
}

std::optional<std::string> FrozenSessionGuard::failure() const {
    const MutexLock lock(mutex_);
    if (failure_ || !looking_since_) return failure_;
    // libpq waits for ever for a frozen server whose kernel still answers.
    const auto silent = Clock::now() - *looking_since_;
    if (silent < silence) return std::nullopt;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(silent).count();
    return "no answer for " + std::to_string(seconds) + " s";
}

void FrozenSessionGuard::run() {
    bool told = false;
    for (MutexLock lock(mutex_); !stopping_; changed_.wait_for(
             lock, options_.look_every, [this]() ONCEWARD_REQUIRES(mutex_) { return stopping_; })) {
        const std::set<int> pids = watched_;
        looking_since_ = Clock::now();
        lock.unlock();
        std::optional<std::string> failure;
        try {
            // Opened at once and kept: when it is needed, the server may accept no more sessions.
            session_.open();
            told = false;
            look(pids);
        } catch (const std::exception& error) {
            session_.end();
            const auto* postgres = dynamic_cast<const PostgresError*>(&error);
            failure = postgres ? postgres->summary() : error.what();
            if (!told) log_warning("guard.connection_lost", {{"error", *failure}});
            told = true;
        }
        lock.lock();
        looking_since_.reset();
        failure_ = std::move(failure);
    }
}

void FrozenSessionGuard::look(const std::set<int>& pids) {
    std::map<Session, Holder> before = std::exchange(holders_, {});
    if (pids.empty()) {
        // notices a lost session while there is time to make another
        session_->execute(sql::database_clock);
        return;
    }
    const std::vector<std::int32_t> waiting(pids.begin(), pids.end());
    const QueryResult found =
        session_->prepared(sql::guard_look, {waiting, options_.limit.count()});
    for (int row = 0; row < found.rows(); ++row) {
        const Session session{static_cast<int>(found.integer(row, 0)), found.text(row, 1)};
        const std::string state(found.text(row, 4));
        const auto known = before.find(session);
        Holder holder{state, Clock::now(), false};
        if (known != before.end()) {
            holder.alerted = known->second.alerted;
            if (known->second.state == state) holder.since = known->second.since;
        }
        judge(session, holder, found.boolean(row, 2), found.boolean(row, 3));
        holders_.emplace(session, holder);
    }
}

void FrozenSessionGuard::judge(const Session& session, Holder& holder, bool own, bool frozen) {
    if (!own) {
        if (holder.alerted) return;
        holder.alerted = true;
        log_warning("guard.blocked_by_another_role", {{"pid", session.first}});
        const MutexLock lock(mutex_);
        ++alerts_;
        return;
    }
    // DANGER: a healthy COPY waits for its client as well; only one that made no progress between
    // two looks is frozen.
    if (!frozen || Clock::now() - holder.since < options_.still_for) return;
    end(session, holder.state);
}

void FrozenSessionGuard::end(const Session& session, const std::string& state) {
    const QueryResult result =
        session_->prepared(sql::guard_end, {session.first, session.second, state});
    if (!result.boolean(0, 0)) return;
    log_warning("guard.ended_frozen_session", {{"pid", session.first}});
    const MutexLock lock(mutex_);
    ++ended_;
}

}  // namespace onceward
