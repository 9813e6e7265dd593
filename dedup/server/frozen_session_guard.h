#pragma once
// Ends frozen workers that hold what this process waits for: no timeout of the server frees the
// locks of a session whose client froze inside COPY, inside a pipeline or while not reading a large
// answer. One object for each process, with a session and a thread of its own; thread-safe. It
// throws nothing after its construction: a lost session is recreated, and until then no session is
// ended.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "dedup/base/mutex.h"
#include "dedup/server/server_session.h"

namespace onceward {

struct FrozenSessionGuardOptions {
    ConnectionOptions connection;
    // If a session of ours waits longer than this for any lock, the lock's holders are checked. A
    // holder's transaction must be older than this before it is ended. Default 5 s. Shorter frees a
    // frozen worker's partitions sooner and ends workers that were only slow (they reconnect,
    // nothing is lost). At most half the session's lock_timeout counts, since a wait that was given
    // up has no holder any more.
    std::chrono::milliseconds limit{5'000};
    // Between two looks. Default 1 s; each costs one small query while nothing waits.
    std::chrono::milliseconds look_every{1'000};
    // A holder is ended when it made no progress for this long. Default 2 s.
    std::chrono::milliseconds still_for{2'000};
};

class FrozenSessionGuard {
  public:
    explicit FrozenSessionGuard(FrozenSessionGuardOptions options);
    ~FrozenSessionGuard();
    FrozenSessionGuard(const FrozenSessionGuard&) = delete;
    FrozenSessionGuard& operator=(const FrozenSessionGuard&) = delete;

    // The sessions to look after, by Connection::pid(). Register each new session, and take it out
    // when it ends.
    void watch(int pid);
    void forget(int pid);

    // Sessions ended, and holders of other roles that were alerted on, since the start; for
    // metrics.
    std::uint64_t ended() const;
    std::uint64_t alerts() const;
    // The failure that its own session, which checks every `look_every`, last met; or for how long
    // a check has had no answer, from five seconds on. nullopt while PostgreSQL answers.
    std::optional<std::string> failure() const;

  private:
    using Clock = std::chrono::steady_clock;
    struct Holder {
        std::string state;
        Clock::time_point since;  // when it was first seen in this state
        bool alerted = false;
    };
    using Session = std::pair<int, std::string>;  // pid and start of the backend

    void run();
    void look(const std::set<int>& pids);
    void judge(const Session& session, Holder& holder, bool own, bool frozen);
    void end(const Session& session, const std::string& state);

    FrozenSessionGuardOptions options_;
    // used by the thread only: who blocked at the last check
    std::map<Session, Holder> holders_;
    ServerSession session_;  // of the thread alone
    mutable Mutex mutex_;
    std::condition_variable_any changed_;
    std::set<int> watched_ ONCEWARD_GUARDED_BY(mutex_);
    std::uint64_t ended_ ONCEWARD_GUARDED_BY(mutex_) = 0;
    std::uint64_t alerts_ ONCEWARD_GUARDED_BY(mutex_) = 0;
    std::optional<std::string> failure_ ONCEWARD_GUARDED_BY(mutex_) = "not connected yet";
    std::optional<Clock::time_point> looking_since_ ONCEWARD_GUARDED_BY(mutex_);
    bool stopping_ ONCEWARD_GUARDED_BY(mutex_) = false;
    std::thread thread_;  // the last member: it uses the others
};

}  // namespace onceward
