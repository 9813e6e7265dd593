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

// The topic halts only once a0 has landed. The release then frees every key of that token.
TEST_F(LeaseTest, AKeyThatARefusedMessageHoldsIsNotCalledForAnother) {
    ScriptedLog log(2);
    for (const char* key : {"a0", "same"}) log.append(0, {.key = key});
    log.append(1, {.key = "same"});
    bool held = true;
    ScriptedEffects effects([&](const std::string& key, int call) -> std::optional<EffectOutcome> {
        if (key == "a0" && held) return std::nullopt;
        return key == "same" && call == 1 ? ScriptedEffects::failed() : ScriptedEffects::done();
    });
    LeaseWorkerOptions halting;
    halting.policy.action = RejectPolicy::Action::halt;
    LeaseWorker worker(*this, log, effects, halting);
    worker.start();
    effects.before_wait = [&] {
        // The first wait refuses the message; the other one would be called before the second.
        if (effects.waits == 3) held = false;
    };
    EXPECT_THROW(worker.run(), TopicHalted);
    EXPECT_EQ(effects.order, (std::vector<std::string>{"a0", "same"}));
    EXPECT_EQ(fence(0), 1);
    EXPECT_EQ(fence(1), 0);
    EXPECT_EQ(leases("state = 'in_flight' AND lease_until <= clock_timestamp()"), 1) << "free";
}

}  // namespace
}  // namespace onceward::support
