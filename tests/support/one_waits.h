#pragma once
// Waiting until one session of a server waits for another one's locks. `looker` is a third session,
// outside a transaction: within one the server's views stay as they were first seen.

#include <chrono>
#include <string>

#include "tests/support/database.h"
#include "tests/support/eventually.h"

namespace onceward::support {

inline constexpr std::chrono::seconds lock_patience{30};

// Whether one session comes to wait for what the session `holder` holds.
inline bool one_waits_for(Database& looker, int holder) {
    const std::string waiting = "SELECT count(*) FROM pg_stat_activity WHERE " +
                                std::to_string(holder) + " = ANY (pg_blocking_pids(pid))";
    return eventually(lock_patience, [&] { return looker.number(waiting) == 1; });
}

// Whether that session comes to wait for any lock.
inline bool waits_for_a_lock(Database& looker, int session) {
    const std::string waiting =
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = " + std::to_string(session);
    return eventually(lock_patience, [&] { return looker.number(waiting) == 1; });
}

}  // namespace onceward::support
