// A contract that is broken while a batch or a call is worked on: nothing of it is committed, and
// no message is skipped.

#include "dedup/base/expects.h"
#include "dedup/once.h"
#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

using testing::HasSubstr;
using testing::Throws;
using testing::ThrowsMessage;

// Waits for a notification in the batch's transaction while the test asks for it. No sink may.
class CarelessSink final : public Sink {
  public:
    explicit CarelessSink(Sink& inner) : inner_(inner) {}
    void write(Transaction& transaction, const BatchContext& context,
               std::span<const Message* const> messages) override {
        inner_.write(transaction, context, messages);
        if (careless) transaction.connection().notified(std::chrono::milliseconds(0));
    }
    bool careless = true;

  private:
    Sink& inner_;
};

class ContractTest : public CoreTest {
  protected:
    Connection connection_{schema_.worker()};
};

TEST_F(ContractTest, ABatchWhoseSinkBreaksOneIsRolledBackAndLandsLater) {
    ScriptedLog log(1);
    for (const char* key : {"a", "b", "c"}) log.append(0, {.key = key});
    CarelessSink sink(sink_);
    CoreWorker worker(log, sink, options());
    EXPECT_THAT([&] { worker.run(); },
                ThrowsMessage<BrokenContract>(HasSubstr("outside of a transaction")));
    EXPECT_EQ(effects(), 0);
    EXPECT_EQ(fence(0), 0);
    sink.careless = false;
    EXPECT_TRUE(worker.run());
    EXPECT_EQ(effects(), 3);
    EXPECT_EQ(fence(0), 3);
    expect_no_violations(log);
}

TEST_F(ContractTest, ACallInsideATransactionDoesNothing) {
    const OnceLedger ledger(connection_);
    int calls = 0;
    const auto count = [&](Transaction&) {
        ++calls;
        return MessageResult{};
    };
    {
        OwnedTransaction transaction(connection_);
        EXPECT_THAT(
            [&] {
                once(connection_, {"pay", "", "a"}, ledger, count);
            },
            Throws<BrokenContract>());
        EXPECT_FALSE(connection_.in_failed_transaction()) << "the caller's own continues";
    }
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(once(connection_, {"pay", "", "a"}, ledger, count).kind, OnceAnswer::Kind::applied);
}

TEST_F(ContractTest, StatementsOfOneRoundTripNeedATransaction) {
    EXPECT_THAT([&] { connection_.pipelined({{"SELECT 1"}}); },
                ThrowsMessage<BrokenContract>(HasSubstr("dedup/contract_test.cc:")))
        << "it names the caller";
    EXPECT_EQ(connection_.query("SELECT 1", {}).integer(0, 0), 1) << "the session continues";
}

}  // namespace
}  // namespace onceward::support
