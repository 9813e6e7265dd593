#pragma once
// The windows of a process: one for each ledger and server, shared by the workers whose sessions
// are with that server. Thread-safe; made by the composition root, outlived by nothing. Throws only
// std::bad_alloc.

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "dedup/base/mutex.h"
#include "dedup/claims/log/log_window.h"

namespace onceward {

class LogWindows {
  public:
    // `server`: as sql::log_server names it. DANGER: sessions with two servers, one of which may
    // have lost commits of the other, never share a window.
    std::shared_ptr<LogWindow> join(const std::string& server, int ledger);
    // No user joins it any more, and its users leave it before their next transaction: a session
    // with its server ended, or what it says no longer holds.
    void discard(const std::shared_ptr<LogWindow>& window);

  private:
    Mutex mutex_;
    std::map<std::pair<std::string, int>, std::weak_ptr<LogWindow>> windows_
        ONCEWARD_GUARDED_BY(mutex_);
};

}  // namespace onceward
