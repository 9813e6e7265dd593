#pragma once
// Leases, for effects outside the database: a card that is charged, a mail that is sent. Take the
// lease in a transaction and commit it; call the other system with `downstream_key`; store the end
// in another transaction. The ledger's store is `lease`. Each function throws Refused, and what
// libpqxx throws.

#include <chrono>
#include <string_view>

#include "inbox/cpp/inbox.h"

namespace onceward::pqxx {

struct Lease {
    Outcome outcome;
    Uuid digest;
    Uuid attempt;
    Uuid downstream_key;                  // the same one for each call of the effect
    int attempts;                         // how often the lease was taken
    bool taken_over;                      // another caller's lease had run out
    std::chrono::microseconds remaining;  // how long it is held, if it is fresh or in flight
    std::optional<StoredResult> result;   // of duplicate and failed
};

struct LeaseOptions {
    std::optional<Uuid> fingerprint{};
    std::optional<Uuid> attempt{};  // the same attempt gets its lease again; else a random one
    std::chrono::milliseconds hold{60'000};
    // false: the other system ignores the key. A lease that ran out without an end is then
    // `unknown` and is never taken over.
    bool honours_key = true;
    std::optional<Time> minted_at{};
};

Lease lease(::pqxx::transaction_base& transaction, const Inbox& inbox, std::string_view key,
            const LeaseOptions& options = {});

// The others answer with false if the lease is no longer this attempt's. end_lease() stores how
// the effect ended; after a COMMIT without an answer it is repeated, and says true.
bool end_lease(::pqxx::transaction_base& transaction, const Inbox& inbox, const Lease& lease,
               const Result& result = {});
// Holds the lease for `hold` from now on.
bool extend_lease(::pqxx::transaction_base& transaction, const Inbox& inbox, const Lease& lease,
                  std::chrono::milliseconds hold);
// The effect certainly did not happen: the next caller may try at once.
bool release_lease(::pqxx::transaction_base& transaction, const Inbox& inbox, const Lease& lease);

}  // namespace onceward::pqxx
