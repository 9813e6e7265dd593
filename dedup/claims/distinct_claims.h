#pragma once
// Folds the keys of a slice into distinct, sorted claims, and unfolds a ledger's answers into a
// verdict for each message. Pure; not thread-safe; borrows the messages.

#include <optional>
#include <span>
#include <vector>

#include "dedup/claims/claim_store.h"
#include "dedup/message/message.h"

namespace onceward {

class DistinctClaims {
  public:
    // Messages that are rejected or skipped claim nothing. The first of several messages with the
    // same key claims it.
    explicit DistinctClaims(std::span<Message* const> messages);
    std::span<const Claim> claims() const { return claims_; }
    // One for each message of the slice, in its order; nullopt for those that claim nothing. A
    // follower is a duplicate of the message before it with the same key, since both land in the
    // same commit, or a conflict with its fingerprint. A follower of a late or early key is late
    // or early, too.
    std::vector<std::optional<Verdict>> verdicts(std::span<const ClaimAnswer> answers) const;
    // The first message of the slice that follows a late or early key and that the ledger judges
    // otherwise, by its own time; nullopt if there is none. A corrected repeat and a redrive are
    // such messages. The slice has to be cut before it.
    std::optional<std::size_t> judged_apart(std::span<const ClaimAnswer> answers) const;

    // What claims the key of a message that is in conflict.
    struct Met {
        const Message* first = nullptr;  // before it in this slice; null: the ledger's claim
        Digest fingerprint;
    };
    // REQUIRES: verdicts() says that this message of the slice is in conflict.
    Met met(const Message& conflict, std::span<const ClaimAnswer> answers) const;

  private:
    std::span<Message* const> messages_;
    std::vector<std::uint32_t> order_;  // message indexes by (digest, place in the slice)
    std::vector<std::size_t> first_;    // for each claim: where its messages begin in order_
    std::vector<Claim> claims_;
};

}  // namespace onceward
