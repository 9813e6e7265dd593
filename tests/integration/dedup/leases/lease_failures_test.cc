// What becomes of effects that fail, for now or for good, under a lease.

#include <algorithm>

#include "dedup/retention/ledger_view.h"
#include "dedup/retention/retention.h"
#include "schemas/queries.h"
#include "tests/integration/dedup/leases/lease_fixture.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

TEST_F(LeaseTest, WhatMayPassIsTriedAgainAndEachTryIsWrittenDownBefore) {
    ScriptedLog log(1);
    append_keys(log, 0, "a", 3);
    ScriptedEffects effects([&](const std::string& key, int call) {
        EXPECT_EQ(database().number("SELECT attempts FROM leases WHERE digest = '" +
                                    uuid_text(scripted_digest(key)) + "'"),
                  call);
        return call < 3 ? ScriptedEffects::again() : ScriptedEffects::done();
    });
    LeaseWorker(*this, log, effects).run_all();
    EXPECT_EQ(leases("state = 'done' AND attempts = 3"), 3);
}

TEST_F(LeaseTest, AnOutcomeThatIsReportedTwiceIsRefusedAndLogged) {
    struct Twice : ScriptedEffects {
        using ScriptedEffects::ScriptedEffects;
        std::vector<EffectOutcome> wait(std::chrono::milliseconds most) override {
            std::vector<EffectOutcome> outcomes = ScriptedEffects::wait(most);
            for (const EffectOutcome& one : std::vector(outcomes)) outcomes.push_back(one);
            for (auto& one : std::span(outcomes).last(outcomes.size() / 2)) {
                one.kind = EffectOutcome::Kind::failed;
            }
            return outcomes;
        }
    };
    ScriptedLog log(1);
    log.append(0, {.key = "a"});
    Twice effects(always_done);
    testing::internal::CaptureStderr();
    LeaseWorker(*this, log, effects).run_all();
    const std::string lines = testing::internal::GetCapturedStderr();
    EXPECT_THAT(lines, testing::AllOf(testing::HasSubstr("lease.wrong_event"),
                                      testing::HasSubstr(R"(state="ended")"),
                                      testing::HasSubstr(R"(event="end")")));
    EXPECT_EQ(lease("a"), "done 1 t") << "the first outcome counts";
    EXPECT_EQ(totals(), "1 0 0 0 0");
}

TEST_F(LeaseTest, WhatDoesNotPassLetsGoOfItsKeyAndItsPartitionWaits) {
    ScriptedLog log(2);
    append_keys(log, 0, "a", 2);
    append_keys(log, 1, "b", 2);
    bool down = true;
    ScriptedEffects effects([&](const std::string& key, int call) {
        return key == "a0" && down ? ScriptedEffects::again() : *always_done(key, call);
    });
    LeaseWorker worker(*this, log, effects);
    worker.start();
    EXPECT_FALSE(worker.run());
    EXPECT_EQ(effects.calls["a0"], 3) << "the first try and two more in a row";
    EXPECT_EQ(worker.waited, 1s);
    EXPECT_TRUE(worker.run()) << "the other partition continues";
    EXPECT_EQ(fence(0), 0);
    EXPECT_EQ(fence(1), 2);
    EXPECT_EQ(leases("state = 'in_flight' AND lease_until <= clock_timestamp()"), 1);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 0);
    // Another worker need not wait for any lease.
    down = false;
    std::vector<LeaseEvent> events;
    LeaseWorker next(*this, log, effects,
                     {.tell = [&](LeaseEvent event) { events.push_back(event); }});
    next.run_all();
    EXPECT_TRUE(events.empty()) << "nothing was taken from anybody: it was let go";
    EXPECT_EQ(lease("a0"), "done 4 t");
    EXPECT_EQ(totals(), "4 0 0 0 0");
}

TEST_F(LeaseTest, TheOtherSidesWishIsThePause) {
    ScriptedLog log(1);
    log.append(0, {.key = "a"});
    ScriptedEffects effects([](const std::string&, int) { return ScriptedEffects::again(120s); });
    LeaseWorker worker(*this, log, effects);
    worker.start();
    EXPECT_FALSE(worker.run());
    EXPECT_EQ(effects.calls["a"], 1) << "longer than a lease is not held for";
    EXPECT_GE(worker.waited * 3 / 4, 120s) << "jittered by a quarter, it is not below";
}

TEST_F(LeaseTest, AFailureForGoodIsADeadLetterAndReplayedUntilItIsSentAgain) {
    ScriptedLog log(1);
    log.append(0, {.key = "a"});
    log.append(0, {.key = "a"});
    ScriptedEffects effects([](const std::string&, int call) {
        return call == 1 ? ScriptedEffects::failed() : ScriptedEffects::done();
    });
    LeaseWorker worker(*this, log, effects);
    worker.run_all();
    EXPECT_EQ(effects.calls["a"], 1);
    EXPECT_EQ(lease("a"), "failed 1 t");
    EXPECT_EQ(totals(), "0 1 0 1 0");
    EXPECT_EQ(database().value("SELECT concat_ws(' ', error_class, reason, attempts) FROM "
                               "dead_letters"),
              "sink answered 422 1");
    log.append(0, {.key = "a"});
    worker.run_all();
    EXPECT_EQ(effects.calls["a"], 1) << "final";
    Connection operators(schema_.owner());
    const std::vector<std::int64_t> letters{
        database().number("SELECT dead_letter FROM "
                          "dead_letters")};
    operators.query(sql::dlq_redrive_free, Parameters{}.integers(letters));
    EXPECT_EQ(leases("true"), 0);
    EXPECT_EQ(database().value("SELECT reason FROM evictions"),
              "redrive of letter " + std::to_string(letters[0]));
    log.append(0, {.key = "a"});
    worker.run_all();
    EXPECT_EQ(effects.calls["a"], 2);
    EXPECT_EQ(lease("a"), "done 1 t");
}

TEST_F(LeaseTest, TheAnswerIsKeptWithTheEndAndGoesWithTheKey) {
    ScriptedLog log(1);
    append_keys(log, 0, "a", 2);
    ScriptedEffects effects([](const std::string& key, int call) {
        if (call == 1) return ScriptedEffects::again();
        EffectOutcome outcome = key == "a0" ? ScriptedEffects::done() : ScriptedEffects::failed();
        outcome.result.body = "answer to " + key;
        if (key == "a1") outcome.result.kind = MessageResult::Kind::failed;
        return outcome;
    });
    LeaseWorker worker(*this, log, effects, {.keeps_answers = true});
    worker.run_all();
    const std::vector<Digest> digests{scripted_digest("a0"), scripted_digest("a1")};
    ResultStore store(worker.registered.ledger, StoreKind::lease);
    const auto answers = store.get(worker.connection, digests);
    EXPECT_EQ(answers[0].value().body, "answer to a0");
    EXPECT_EQ(answers[0].value().status, 200);
    EXPECT_EQ(answers[1].value().kind, MessageResult::Kind::failed);
    EXPECT_EQ(leases("result_kept"), 2);
    Connection operators(schema_.owner());
    const std::vector<std::int64_t> letters{
        database().number("SELECT dead_letter FROM dead_letters")};
    operators.query(sql::dlq_redrive_free, Parameters{}.integers(letters));
    const auto after = store.get(worker.connection, digests);
    EXPECT_TRUE(after[0]);
    EXPECT_FALSE(after[1]) << "its key is free, and its next answer another one";
}

// b's end was written down before; the transaction that passes it has no answer of its own.
TEST_F(LeaseTest, AnAnswerThatWasRolledBackIsNotRemembered) {
    ScriptedLog log(2);
    log.append(0, {.key = "a"});
    log.append(1, {.key = "b"});
    ScriptedEffects effects(always_done);
    LeaseWorker(*this, log, effects, {.partitions = {1}}).run_all();
    database().execute(
        "UPDATE leases SET counted = false; UPDATE fences SET next_offset = 0 WHERE partition = 1");
    bool fails = true;
    StepHook hook([&](Step step) {
        if (step == Step::after_sink && fails && effects.calls.contains("a")) throw Enough{};
    });
    LeaseWorker worker(*this, log, effects, {.observer = &hook, .keeps_answers = true});
    worker.start();
    EXPECT_THROW(worker.run(), Enough);
    fails = false;
    worker.processor->abandon({Partition{0}});
    EXPECT_TRUE(worker.run());
    EXPECT_EQ(fence(0), 0);
    EXPECT_EQ(fence(1), 1);
    const Digest a = scripted_digest("a");
    EXPECT_FALSE(worker.results->get(worker.connection, {&a, 1})[0]);
}

TEST_F(LeaseTest, OnRejectHaltStopsInFrontOfItAndTheKeyIsFree) {
    ScriptedLog log(1);
    append_keys(log, 0, "a", 3);
    ScriptedEffects effects([](const std::string& key, int) {
        return key == "a1" ? ScriptedEffects::failed() : ScriptedEffects::done();
    });
    LeaseWorkerOptions halting;
    halting.policy.action = RejectPolicy::Action::halt;
    LeaseWorker worker(*this, log, effects, halting);
    worker.start();
    try {
        worker.run();
        FAIL() << "the topic did not halt";
    } catch (const TopicHalted& halted) {
        EXPECT_EQ(halted.offset, Offset{1});
    }
    EXPECT_EQ(fence(0), 1);
    EXPECT_EQ(leases("state = 'in_flight' AND lease_until <= clock_timestamp()"), 1);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 0);
}

TEST_F(LeaseTest, AnotherFingerprintIsAConflictWithThePlaceOfTheFirst) {
    ScriptedLog log(1);
    log.append(0, {.key = "before"});
    for (const char* payload : {"1", "2", "1"}) {
        log.append(0, {.key = "a", .payload = payload, .fingerprint = digest_of_bytes(payload)});
    }
    ScriptedEffects effects(always_done);
    LeaseWorker(*this, log, effects).run_all();
    EXPECT_EQ(totals(), "2 1 1 0 0");
    EXPECT_EQ(effects.calls["a"], 1);
    EXPECT_EQ(database().value("SELECT concat_ws(' ', error_class, record_offset, "
                               "first_places->0->>'offset', first_fingerprint = '" +
                               uuid_text(digest_of_bytes("1")) + "') FROM dead_letters"),
              "conflict 2 1 t");
}

TEST_F(LeaseTest, AConflictThatIsIgnoredIsCountedAndLeavesNothingElse) {
    ScriptedLog log(1);
    for (const char* payload : {"1", "2"}) {
        log.append(0, {.key = "a", .payload = payload, .fingerprint = digest_of_bytes(payload)});
    }
    log.append(0, {.key = "behind"});
    ScriptedEffects effects(always_done);
    LeaseWorkerOptions ignoring;
    ignoring.policy.on_conflict = RejectPolicy::OnConflict::ignore;
    LeaseWorker(*this, log, effects, ignoring).run_all();
    EXPECT_EQ(totals(), "2 0 1 0 0");
    EXPECT_EQ(fence(0), 3);
    EXPECT_EQ(effects.calls, (std::map<std::string, int>{{"a", 1}, {"behind", 1}}));
    EXPECT_EQ(lease("a"), "done 1 t");
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 0);
}

// What is rejected otherwise goes to the dead letters all the same.
TEST_F(LeaseTest, OnConflictHaltStopsInFrontOfItAndGoesOnOnceItIsToBeIgnored) {
    ScriptedLog log(1);
    log.append(0, {.key = "bad", .rejection = Rejection{}});
    for (const char* payload : {"1", "2"}) {
        log.append(0, {.key = "a", .payload = payload, .fingerprint = digest_of_bytes(payload)});
    }
    log.append(0, {.key = "behind"});
    ScriptedEffects effects(always_done);
    LeaseWorkerOptions options;
    options.policy.on_conflict = RejectPolicy::OnConflict::halt;
    {
        LeaseWorker halting(*this, log, effects, options);
        halting.start();
        try {
            halting.run();
            FAIL() << "the topic did not halt";
        } catch (const TopicHalted& halted) {
            EXPECT_EQ(halted.offset, Offset{2});
            EXPECT_THAT(halted.what(), ::testing::HasSubstr("on_conflict: halt"));
        }
    }
    EXPECT_EQ(fence(0), 2);
    EXPECT_EQ(totals(), "1 0 0 1 0");
    EXPECT_EQ(lease("a"), "done 1 t");
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 1);
    options.policy.on_conflict = RejectPolicy::OnConflict::ignore;
    LeaseWorker(*this, log, effects, options).run_all();
    EXPECT_EQ(totals(), "2 0 1 1 0");
    EXPECT_EQ(fence(0), 4);
    EXPECT_EQ(effects.calls, (std::map<std::string, int>{{"a", 1}, {"behind", 1}}));
}

TEST_F(LeaseTest, EndedLeasesThatAreHeldBackOrWaitForTheirHoursAreTold) {
    ScriptedLog log(1);
    append_keys(log, 0, "a", 1);
    ScriptedEffects effects(always_done);
    LeaseWorker worker(*this, log, effects);
    worker.run_all();
    database().execute(
        "UPDATE leases SET ended_at = now() - interval '30 hours'; "
        "UPDATE fences SET watermark = now() - interval '8 hours'; "
        "UPDATE ledger_feeds SET partitions = 1, watermark = now()");
    LedgerOptions ledger;
    ledger.name = "calls";
    ledger.store = StoreKind::lease;
    RetentionJob retention({schema_.worker(), {ledger}, 20ms, 1s});
    const RetentionReport held = retention.look(worker.connection, ledger);
    EXPECT_TRUE(held.held_back);
    EXPECT_EQ(held.leases, 0);
    EXPECT_GE(view_ledgers(worker.connection, "calls", std::nullopt).at(0).held_back, 5h);
    database().execute("UPDATE fences SET watermark = now() - interval '1 hour'");
    const auto now = std::chrono::floor<std::chrono::minutes>(std::chrono::system_clock::now())
                         .time_since_epoch();
    ledger.purge_hours = DailyHours{(now + 2h) % 24h, (now + 3h) % 24h};
    const RetentionReport waits = retention.look(worker.connection, ledger);
    EXPECT_TRUE(waits.waits_for_hours);
    EXPECT_FALSE(waits.held_back);
    EXPECT_EQ(waits.leases, 0);
    ledger.purge_hours.reset();
    EXPECT_EQ(retention.look(worker.connection, ledger).leases, 1);
}

TEST_F(LeaseTest, TheLedgersViewTellsOfKeysInFlightAndOfThoseThatWait) {
    ScriptedLog log(1);
    append_keys(log, 0, "a", 4);
    ScriptedEffects effects(always_done);
    LeaseWorker worker(*this, log, effects);
    worker.run_all();
    database().execute(
        "UPDATE leases SET state = 'in_flight', ended_at = NULL, "
        "begun_at = now() - interval '1 hour', "
        "lease_until = now() + (record_offset - 1) * interval '1 hour' WHERE record_offset < 3");
    const LedgerView view = view_ledgers(worker.connection, "calls", std::nullopt).at(0);
    EXPECT_EQ(view.leases_held, 1);
    EXPECT_EQ(view.leases_waiting, 2);
    EXPECT_GE(view.oldest_lease, 1h);
    EXPECT_EQ(view.claims, 4);
}

// After a crash, with another `fingerprint` in the configuration.
TEST_F(LeaseTest, AMessageIsNeverInConflictWithItsOwnFirstTry) {
    ScriptedLog before(1), after(1);
    before.append(0, {.key = "a", .fingerprint = digest_of_bytes("before")});
    after.append(0, {.key = "a", .fingerprint = digest_of_bytes("after")});
    ScriptedEffects stuck([](const std::string&, int) { return std::nullopt; });
    {
        LeaseWorker crashes(*this, before, stuck);
        crashes.start();
        stuck.before_wait = [&] {
            if (!stuck.order.empty()) throw Enough{};
        };
        EXPECT_THROW(crashes.run(), Enough);
    }
    end_all_leases();
    ScriptedEffects effects(always_done);
    LeaseWorker(*this, after, effects).run_all();
    EXPECT_EQ(lease("a"), "done 2 t");
    EXPECT_EQ(totals(), "1 0 0 0 0");
}

// One transaction ends a key and passes another, which had ended before; the other one claims both.
TEST_F(LeaseTest, WhatATransactionWritesOfLeasesIsLockedInTheOrderOfClaims) {
    ScriptedLog log(1);
    append_keys(log, 0, "a", 2);
    ScriptedEffects effects(always_done);
    LeaseWorker worker(*this, log, effects);
    worker.start();  // the fence is there
    std::vector<Claim> claims;
    for (int i = 0; i < 2; ++i) {
        claims.push_back(
            {scripted_digest("a" + std::to_string(i)), std::nullopt, Partition{0}, Offset{i}});
    }
    std::ranges::sort(claims, {}, &Claim::digest);
    const LeaseEnd first{claims[0].digest, false, false, 200, ""};
    const LeaseEnd second{claims[1].digest, false, true, 200, ""};
    Leases mine(worker.registered, 60s), others(worker.registered, 60s);
    {
        OwnedTransaction transaction(worker.connection);
        mine.claim(transaction, {"group", "topic"}, claims);
        mine.finish(transaction, {&first, 1}, false);
        transaction.commit();
    }
    Connection connection(named("claims both"));
    OwnedTransaction transaction(worker.connection);
    mine.finish(transaction, {&second, 1}, false, {&first.digest, 1});
    std::future<std::vector<LeaseAnswer>> claimed = std::async(std::launch::async, [&] {
        OwnedTransaction claiming(connection);
        std::vector<LeaseAnswer> answers = others.claim(claiming, {"group", "topic"}, claims);
        claiming.commit();
        return answers;
    });
    EXPECT_TRUE(eventually(10s, [&] { return waits_for_lock("claims both"); }));
    mine.count(transaction, {&first.digest, 1});
    transaction.commit();
    for (const LeaseAnswer& answer : claimed.get()) EXPECT_EQ(answer.verdict, LeaseVerdict::done);
}

TEST_F(LeaseTest, TooLargeAShareOfFailuresHaltsTheTopicAndNoMoreIsCalled) {
    ScriptedLog log(1);
    append_keys(log, 0, "a", 100);
    ScriptedEffects effects([](const std::string&, int) { return ScriptedEffects::failed(); });
    LeaseWorkerOptions capped;
    capped.policy = {.cap_share = 0.5, .cap_minimum = 10};
    LeaseWorker worker(*this, log, effects, capped);
    worker.start();
    EXPECT_THROW(worker.run(), TopicHalted);
    EXPECT_LT(effects.order.size(), 40U);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"),
              static_cast<std::int64_t>(effects.order.size()));
}

}  // namespace
}  // namespace onceward::support
