#pragma once
// Cancels a session's statements from the time that a stop is requested until this object's end.
// It repeats that: after a cancelled statement the session's owner may begin one more. use() is
// called by the owner of the session, the stop by any thread. Throws nothing.

#include <functional>
#include <memory>
#include <stop_token>
#include <thread>

#include "dedup/base/mutex.h"
#include "dedup/postgres/connection.h"

struct pg_cancel;

namespace onceward {

class StopCancel {
  public:
    explicit StopCancel(std::stop_token stop);
    // From now on this session's statements are meant. It may be lost, and may end before this
    // object does.
    void use(Connection& connection);

  private:
    struct Free {
        void operator()(pg_cancel* cancel) const;
    };
    void cancel_until(const std::stop_token& end);
    Mutex mutex_;
    std::unique_ptr<pg_cancel, Free> session_ ONCEWARD_GUARDED_BY(mutex_);
    std::jthread thread_;  // only after the stop
    std::stop_callback<std::function<void()>> on_stop_;
};

}  // namespace onceward
