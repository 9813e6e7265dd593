#pragma once
// A ledger in memory, for tests of one's own sink or key rules: the verdicts of the table store
// without its tables. DANGER: for tests alone. It knows nothing of other workers and forgets at the
// process's end, so that a real topic would be applied twice. Used by one thread; throws nothing
// but std::bad_alloc.

#include <map>

#include "dedup/claims/claim_store.h"

namespace onceward {

class MemoryStore final : public ClaimStore {
  public:
    std::optional<std::vector<ClaimAnswer>> claim(Transaction& transaction,
                                                  const std::string& topic,
                                                  std::span<const Claim> claims) override;
    // The same without a transaction, where a test has no database.
    std::vector<ClaimAnswer> claim(std::span<const Claim> claims);
    void committed() override;
    // Only what was never committed is forgotten: here memory is the ledger and not a copy of it.
    void connection_lost() override { open_.clear(); }
    std::size_t size() const { return claims_.size(); }
    bool holds(const Digest& digest) const { return claims_.contains(digest); }

  private:
    using Claims = std::map<Digest, std::optional<Digest>>;  // with the fingerprint
    Claims claims_;
    // of the transaction under way; the next claim() without committed() means that it was rolled
    // back
    Claims open_;
};

}  // namespace onceward
