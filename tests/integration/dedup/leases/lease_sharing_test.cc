// One key and several who may call it: a route, a program's inbox, the messages of a topic.

#include "tests/integration/dedup/leases/lease_fixture.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

TEST_F(LeaseTest, AKeyThatARouteReleasedIsCalledForTheNextMessage) {
    ScriptedLog log(1);
    log.append(0, {.key = "a"});
    ScriptedEffects effects(always_done);
    LeaseWorker worker(*this, log, effects);
    LedgerOptions ledger;
    ledger.name = "calls";
    ledger.store = StoreKind::lease;
    Leases route(register_requests(worker.connection, ledger, "service", "route", 60s), 60s,
                 random_digest());
    {
        OwnedTransaction transaction(worker.connection);
        EXPECT_EQ(route.claim_request(transaction, claim_of("a"), true).verdict,
                  LeaseVerdict::mine);
        transaction.commit();
    }
    route.release_request(worker.connection, scripted_digest("a"));
    EXPECT_EQ(lease("a"), "failed 1 t");
    worker.run_all();
    EXPECT_EQ(effects.calls["a"], 1);
    EXPECT_EQ(lease("a"), "done 2 t");
    EXPECT_EQ(leases("reason IS NULL AND NOT taken_over"), 1) << "nobody had it";
    EXPECT_EQ(totals(), "1 0 0 0 0");
}

TEST_F(LeaseTest, AKeyThatTheInboxReleasedIsCalledForTheNextMessage) {
    ScriptedLog log(1);
    log.append(0, {.key = "a"});
    ScriptedEffects effects(always_done);
    LeaseWorker worker(*this, log, effects);
    database().execute("SELECT register_ledger('calls', 'lease', stores_results => false)");
    // The parts of scripted_digest().
    const Row held = database()
                         .execute(
                             "SELECT digest, attempt FROM lease('test', '', 'field', 'a'::text, "
                             "ledger => 'calls')")
                         .front();
    EXPECT_EQ(database()
                  .execute("SELECT release_lease($1::uuid, $2::uuid, 'calls')", {held[0], held[1]})
                  .front()
                  .front(),
              "t");
    EXPECT_EQ(lease("a"), "failed 1 t");
    worker.run_all();
    EXPECT_EQ(effects.calls["a"], 1);
    EXPECT_EQ(lease("a"), "done 2 t");
    EXPECT_EQ(totals(), "1 0 0 0 0");
}

}  // namespace
}  // namespace onceward::support
