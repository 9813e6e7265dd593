// The order in a batch of requests' transaction, with a ledger that says what the test wants.

#include "gateway/to_sink/sink_transaction.h"

#include <gtest/gtest.h>

#include "dedup/ledger/ledger.h"
#include "tests/integration/gateway/order_sink.h"

namespace onceward::support {
namespace {

// Knows all keys, from a neighbour that commits while it is waited for.
class NeighboursClaims final : public ClaimStore {
  public:
    NeighboursClaims(Database& neighbour, Digest key) : neighbour_(neighbour), key_(key) {}
    std::optional<std::vector<ClaimAnswer>> claim(Transaction&,
                                                  std::span<const Claim> claims) override {
        return std::vector<ClaimAnswer>(claims.size(), {Verdict::duplicate, std::nullopt});
    }
    Settlement confirm(Transaction&) override {
        neighbour_.execute(
            "INSERT INTO results_1_1 (digest, tenant, kind, status, headers, body) VALUES ('" +
            uuid_text(key_) + "', '', 'done', 201, '[]', 'made')");
        return Settlement::settled;
    }
    // The lock is held from here on: a session that still reads results finds none.
    Settlement settle(Transaction& transaction) override {
        transaction.query("DELETE FROM {schema}.results_1_1", {});
        return Settlement::settled;
    }

  private:
    Database& neighbour_;
    Digest key_;
};

TEST(SinkTransactionTest, AnswersAreReadBeforeTheLedgersLockIsTaken) {
    FreshSchema schema;
    const std::string table = order_table(schema);
    RequestInBatch request;
    request.request = order("a", "body");
    Message& message = request.chunk.messages.emplace_back();
    message.digest = request.request.digest;
    // A worker may not delete from the ledger's own tables.
    Connection connection(schema.owner());
    LedgerOptions ledger;
    ledger.name = "orders";
    ledger.store = StoreKind::log;
    ledger.stores_results = true;
    const RegisteredLedger registered =
        register_requests(connection, ledger, "shop", "orders", std::chrono::seconds(60));
    ResultStore results(registered.ledger, ledger.store);
    NeighboursClaims claims(schema.database(), request.request.digest);
    OrderSink sink(table);
    SinkTransaction transaction({.claims = claims,
                                 .results = results,
                                 .sink = sink,
                                 .context = {"shop", "orders"},
                                 .limits = {}});
    RequestInBatch* const batch[] = {&request};
    ASSERT_EQ(transaction.attempt(connection, batch, std::chrono::seconds(1)), Settlement::settled);
    const auto* answer = std::get_if<KeyedAnswer>(&request.outcome);
    ASSERT_NE(answer, nullptr) << "its answer was not found";
    EXPECT_EQ(answer->state, KeyState::replayed);
    EXPECT_EQ(answer->result.body, "made");
}

}  // namespace
}  // namespace onceward::support
