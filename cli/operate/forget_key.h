#pragma once
// Removes a key's claims by hand, for `onceward forget` and the admin port. Used by one thread;
// throws PostgresError, and std::runtime_error if a ledger stays locked.

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "dedup/message/digest.h"
#include "dedup/postgres/connection.h"

namespace onceward {

// While it waits, one try holds up the ledger's commits for this long at most.
inline constexpr std::chrono::seconds forget_lock_timeout{1};

// Tries again while the ledger is locked. `what`: what the error says was locked all the time.
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
