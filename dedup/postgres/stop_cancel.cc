#include "dedup/postgres/stop_cancel.h"

#include <libpq-fe.h>

#include <array>
#include <utility>

#include "dedup/base/backoff.h"

namespace onceward {
namespace {

constexpr std::chrono::milliseconds every{100};

}  // namespace

void StopCancel::Free::operator()(pg_cancel* cancel) const { PQfreeCancel(cancel); }

StopCancel::StopCancel(std::stop_token stop)
    : on_stop_(std::move(stop), [this] {
          thread_ = std::jthread([this](const std::stop_token& end) { cancel_until(end); });
      }) {}

void StopCancel::use(Connection& connection) {
    // Null if the session is lost: it runs no statement.
    std::unique_ptr<pg_cancel, Free> session(PQgetCancel(connection.raw()));
    const MutexLock lock(mutex_);
    session_ = std::move(session);
}

// A request that fails is repeated as well, so its error does not matter.
void StopCancel::cancel_until(const std::stop_token& end) {
    std::array<char, 256> error{};
    while (!end.stop_requested()) {
        {
            const MutexLock lock(mutex_);
            if (session_) PQcancel(session_.get(), error.data(), static_cast<int>(error.size()));
        }
        sleep_unless(end, every);
    }
}

}  // namespace onceward
