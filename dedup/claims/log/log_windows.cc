#include "dedup/claims/log/log_windows.h"

namespace onceward {

std::shared_ptr<LogWindow> LogWindows::join(const std::string& server, int ledger) {
    const MutexLock lock(mutex_);
    std::weak_ptr<LogWindow>& known = windows_[{server, ledger}];
    std::shared_ptr<LogWindow> window = known.lock();
    if (!window || window->discarded()) {
        window = std::make_shared<LogWindow>();
        known = window;
        // Servers come and go; a window that is no longer used is forgotten.
        std::erase_if(windows_, [](const auto& entry) { return entry.second.expired(); });
    }
    return window;
}

void LogWindows::discard(const std::shared_ptr<LogWindow>& window) {
    const MutexLock lock(mutex_);
    window->discard();
}

}  // namespace onceward
