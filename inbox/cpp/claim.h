#pragma once
// Claims keys in the caller's transaction, which has to be READ COMMITTED.
//
//     const Inbox payments{.operation = "pay", .ledger = "payments"};
//     pqxx::work transaction(connection);
//     const Claim claim = onceward::pqxx::claim(transaction, payments, "order-17");
//     if (claim.outcome == Outcome::fresh) {
//         transaction.exec("INSERT INTO ...");
//         finish(transaction, payments, claim, {.status = 201, .body = "paid"});
//         transaction.commit();
//     }
//
// once() of inbox/cpp/once.h does this, with what follows a lost COMMIT. Each function throws
// Refused, and what libpqxx throws. A pqxx::nontransaction is Refused with OW004: its statements
// commit one by one. A key is 1 to 255 bytes without NUL.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inbox/cpp/inbox.h"

namespace onceward::pqxx {

struct Claim {
    Outcome outcome;
    Uuid digest;
    Uuid attempt;
    bool mine;  // the stored result is of this attempt, whose COMMIT had no answer
    std::optional<StoredResult> result;
};

struct ClaimOptions {
    std::optional<Uuid> fingerprint{};  // of what came with the key; see fingerprint_of()
    std::optional<Uuid> attempt{};      // names the request over its tries; else a random one
    std::optional<Time> minted_at{};    // a key from before the ledger's memory is `expired`
};

Claim claim(::pqxx::transaction_base& transaction, const Inbox& inbox, std::string_view key,
            const ClaimOptions& options = {});

// Stores the result of a fresh claim of this transaction.
void finish(::pqxx::transaction_base& transaction, const Inbox& inbox, const Claim& claim,
            const Result& result = {});

// The lists are empty, or as long as the keys.
struct ManyOptions {
    std::vector<std::optional<Uuid>> fingerprints{};
    std::optional<Uuid> attempt{};
    std::vector<std::optional<Time>> minted_at{};
    std::int64_t max_bytes = 1 << 20;  // of all bodies; those beyond it are left out
};

// Claims up to 10,000 keys in one round trip and answers in their order. DANGER: call it before the
// transaction locks rows. It claims in the order of the digests; with older row locks, which are in
// another order, two batches can deadlock.
std::vector<Claim> claim_many(::pqxx::transaction_base& transaction, const Inbox& inbox,
                              std::span<const std::string> keys, const ManyOptions& options = {});

// Stores one status, without headers and body, for the fresh ones of the claims of one call of
// claim_many().
void finish_many(::pqxx::transaction_base& transaction, const Inbox& inbox,
                 std::span<const Claim> claims, int status = 0);

}  // namespace onceward::pqxx
