#pragma once
// A key's claims taken out by hand, for `onceward forget` and the admin port. Used by one thread;
// throws PostgresError, and std::runtime_error where a ledger is locked all the time.

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "dedup/message/digest.h"
#include "dedup/postgres/connection.h"

namespace onceward {

// One try holds up the ledger's commits for as long at most, while it waits.
inline constexpr std::chrono::seconds forget_lock_timeout{1};

// Tries again while the ledger is locked; `what` was, if it is all the time.
template <class Work>
auto unlocked(const std::string& what, Work work) {
    constexpr int most_tries = 30;
    for (int tries = 0; tries < most_tries; ++tries) {
        if (const auto done = work()) return *done;
    }
    throw std::runtime_error(what + " locked all the time; run it again");
}

// From each ledger, or from the one that is named. Returns how many claims there were.
int forget_in_all(Connection& connection, const std::string& ledger,
                  const std::vector<Digest>& digests, const std::string& reason);

}  // namespace onceward
