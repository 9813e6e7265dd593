#pragma once
// The `table` store: plain rows in generation tables, nothing held in memory. Exact over the whole
// window. Used by the writer's thread; failures are PostgresErrors.

#include "dedup/claims/claim_store.h"
#include "dedup/claims/new_keys_presumption.h"

namespace onceward {

class TableStore final : public ClaimStore {
  public:
    // `ledger` and `source` as the ledger was registered.
    TableStore(int ledger, int source) : ledger_(ledger), source_(source) {}
    std::optional<std::vector<ClaimAnswer>> claim(Transaction& transaction,
                                                  std::span<const Claim> claims) override;
    std::optional<NewClaims> claim_as_new(std::span<const Claim> claims) override;
    std::vector<std::vector<ClaimPlace>> places(Transaction& transaction,
                                                std::span<const Claim> claims) override;
    std::vector<bool> known(Connection& connection, std::span<const Digest> digests) override;
    void connection_lost() override { known_ = {}; }

  private:
    struct Generations {
        std::vector<std::string> sealed;
        std::string current;
        bool operator==(const Generations&) const = default;
    };
    Generations read_generations(Transaction& transaction);
    static std::string probe_of(const std::vector<std::string>& generations);
    void probe(Transaction& transaction, const Generations& generations,
               std::span<const Claim> claims, std::vector<ClaimAnswer>& answers) const;
    void refuse_unjudged(Transaction& transaction, const Connection::Names& current,
                         std::span<const Claim> claims, std::vector<ClaimAnswer>& answers) const;
    // Returns whether all of these were new and are written now; otherwise the transaction has
    // failed. There is no savepoint: a claim and its effect must have the same xmin, so that they
    // are visibly of one transaction.
    bool copy(Transaction& transaction, const Connection::Names& generation,
              std::span<const Claim> claims, std::span<const std::size_t> places) const;
    // Those that are new; answers for the others.
    void insert(Transaction& transaction, const Connection::Names& generation,
                std::span<const Claim> claims, std::span<const std::size_t> places,
                std::vector<ClaimAnswer>& answers) const;

    int ledger_;
    int source_;
    // The generations of the last look. When they change, the prepared statements are forgotten.
    Generations known_;
    std::string none_known_;  // claims_none_known's statement, for the sealed ones
    NewKeysPresumption presumption_;
};

}  // namespace onceward
