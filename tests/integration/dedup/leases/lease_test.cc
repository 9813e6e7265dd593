// A ledger with `store: lease` on a real server: what a crash, another owner or an effect that
// fails leaves, and where the fence is meanwhile.

#include "dedup/operator/interventions.h"
#include "dedup/retention/retention.h"
#include "tests/integration/dedup/leases/lease_fixture.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

TEST_F(LeaseTest, EachKeyTakesEffectOnceAndIsWrittenDown) {
    ScriptedLog log(2);
    append_keys(log, 0, "a", 20);
    append_keys(log, 1, "b", 20);
    log.append(1, {.key = "a3"});
    log.append(0, {.key = "bad", .rejection = Rejection{}});
    log.append(0, {.key = "skipped", .skipped = true});
    ScriptedEffects effects(always_done);
    LeaseWorker worker(*this, log, effects);
    worker.run_all();
    EXPECT_EQ(effects.calls.size(), 40U);
    for (const auto& [key, calls] : effects.calls) EXPECT_EQ(calls, 1) << key;
    EXPECT_EQ(leases("state = 'done' AND counted AND attempts = 1 AND status = 200"), 40);
    EXPECT_EQ(totals(), "40 1 0 1 1");
    EXPECT_EQ(worker.totals,
              (Totals{.applied = 40, .duplicates = 1, .dead_lettered = 1, .skipped = 1}));
    EXPECT_EQ(fence(0), 22);
    EXPECT_EQ(fence(1), 21);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 1);
}

TEST_F(LeaseTest, AKeyFromBeforeTheLedgersMemoryIsADeadLetterAndNotCalled) {
    const auto ago = [](std::chrono::seconds time) {
        return MintedAt(since_1970<std::chrono::microseconds>() - time);
    };
    ScriptedLog log(1);
    const MintedAt old = ago(3600s);
    log.append(0, {.key = "a", .minted_at = old});
    ScriptedEffects effects(always_done);
    LeaseWorker(*this, log, effects).run_all();
    database().execute("UPDATE ledgers SET memory_begins = clock_timestamp()");
    log.append(0, {.key = "a", .minted_at = old});
    log.append(0, {.key = "b", .minted_at = old});
    log.append(0, {.key = "c", .minted_at = ago(-90s)});
    log.append(0, {.key = "d", .minted_at = ago(0s)});
    LeaseWorker worker(*this, log, effects);
    worker.run_all();
    EXPECT_EQ(worker.totals, (Totals{.applied = 1, .duplicates = 1, .dead_lettered = 2}));
    EXPECT_EQ(effects.order, (std::vector<std::string>{"a", "d"}));
    EXPECT_EQ(database().value("SELECT string_agg(error_class, ' ' ORDER BY record_offset) FROM "
                               "dead_letters"),
              "late_key invalid_key");
}

// The memory moves with the rows that go.
TEST_F(LeaseTest, WhatRetentionDeletesIsBeyondTheMemory) {
    ScriptedLog log(1);
    log.append(0, {.key = "a"});
    ScriptedEffects effects(always_done);
    LeaseWorker(*this, log, effects).run_all();
    database().execute("UPDATE ledgers SET retention = '1 ms'");
    database().execute("UPDATE fences SET watermark = clock_timestamp() + interval '1 day'");
    database().execute("UPDATE ledger_feeds SET partitions = 1, watermark = "
                       "clock_timestamp() + interval '1 day'");
    EXPECT_EQ(database().value("SELECT memory_begins FROM ledgers"), "-infinity");
    EXPECT_EQ(database().number("SELECT delete_ended_leases(1, 10)"), 1);
    EXPECT_EQ(database().value("SELECT memory_begins > clock_timestamp() FROM ledgers"), "t");
}

// a0 does not end; the later ones do.
TEST_F(LeaseTest, TheFenceMovesOnlyOverTheFinishedPrefix) {
    ScriptedLog log(1);
    append_keys(log, 0, "a", 4);
    bool held = true;
    ScriptedEffects effects([&](const std::string& key, int) {
        return key == "a0" && held ? std::nullopt : always_done(key, 1);
    });
    LeaseWorker worker(*this, log, effects);
    worker.start();
    effects.before_wait = [&] {
        if (leases("state = 'done'") < 3) return;
        EXPECT_EQ(fence(0), 0) << "it would jump over one in flight";
        EXPECT_EQ(leases("counted"), 0);
        held = false;
    };
    EXPECT_TRUE(worker.run());
    EXPECT_EQ(fence(0), 4);
    EXPECT_EQ(leases("state = 'done' AND counted"), 4);
    EXPECT_EQ(totals(), "4 0 0 0 0");
}

// As after a crash: what was finished beyond the fence is known by its own place and counted when
// the fence passes it; what was under way is taken over when its lease has ended.
TEST_F(LeaseTest, AfterACrashWhatIsFinishedBeyondTheFenceIsMetAgainAndNotDoneAgain) {
    ScriptedLog log(1);
    append_keys(log, 0, "a", 3);
    log.append(0, {.key = "bad"});
    const auto by_key = [](const std::string& key, int) {
        return key == "bad" ? ScriptedEffects::failed() : ScriptedEffects::done();
    };
    ScriptedEffects first([&](const std::string& key, int call) -> std::optional<EffectOutcome> {
        if (key == "a0") return std::nullopt;
        return by_key(key, call);
    });
    {
        LeaseWorker worker(*this, log, first);
        worker.start();
        first.before_wait = [&] {
            if (leases("state <> 'in_flight'") == 3) throw Enough{};
        };
        EXPECT_THROW(worker.run(), Enough);
    }
    EXPECT_EQ(fence(0), 0);
    EXPECT_EQ(lease("a0"), "in_flight 1 f");
    EXPECT_EQ(lease("bad"), "failed 1 f");
    ScriptedEffects second(by_key);
    std::vector<LeaseEvent> events;
    LeaseWorker next(*this, log, second,
                     {.tell = [&](LeaseEvent event) { events.push_back(event); }});
    next.start();
    EXPECT_FALSE(next.run()) << "its lease has not ended";
    EXPECT_EQ(second.calls.size(), 0U);
    EXPECT_EQ(fence(0), 0);
    end_all_leases();
    next.run_all();
    EXPECT_EQ(second.calls, (std::map<std::string, int>{{"a0", 1}}));
    EXPECT_EQ(lease("a0"), "done 2 t");
    EXPECT_EQ(events, std::vector{LeaseEvent::taken_over});
    EXPECT_EQ(fence(0), 4);
    EXPECT_EQ(totals(), "3 0 0 1 0");
    EXPECT_EQ(leases("counted"), 4);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 1);
}

// `onceward offsets` moves a fence back: what it has counted before is a duplicate then.
TEST_F(LeaseTest, AfterARewindWhatWasCountedIsADuplicate) {
    ScriptedLog log(1);
    append_keys(log, 0, "a", 5);
    ScriptedEffects effects(always_done);
    LeaseWorker(*this, log, effects).run_all();
    database().execute("UPDATE fences SET next_offset = 2, owner = gen_random_uuid()");
    LeaseWorker(*this, log, effects).run_all();
    EXPECT_EQ(effects.order.size(), 5U);
    EXPECT_EQ(totals(), "5 3 0 0 0");
}

TEST_F(LeaseTest, AStaleOwnersEndChangesNothing) {
    ScriptedLog log(1);
    log.append(0, {.key = "a"});
    ScriptedEffects stuck([](const std::string&, int) { return std::nullopt; });
    LeaseWorker frozen(*this, log, stuck);
    frozen.start();
    stuck.before_wait = [&] {
        if (stuck.waits > 1) throw Enough{};
    };
    EXPECT_THROW(frozen.run(), Enough);
    Leases stale(frozen.registered, 60s);
    const Digest digest = scripted_digest("a");
    const Claim claim{digest, std::nullopt, Partition{0}, Offset{0}};
    end_all_leases();
    {
        OwnedTransaction transaction(frozen.connection);
        EXPECT_EQ(stale.claim(transaction, {"group", "topic"}, {&claim, 1})[0].attempts, 2);
        transaction.commit();
    }
    end_all_leases();
    ScriptedEffects effects(always_done);
    LeaseWorker next(*this, log, effects);
    next.run_all();
    EXPECT_EQ(lease("a"), "done 3 t");
    expect_powerless(stale, frozen.connection, digest);
}

// What is in flight is not known by its state: the owner alone protects it.
TEST_F(LeaseTest, AStaleOwnerChangesNothingWhileTheNextOneIsAtIt) {
    ScriptedLog log(1);
    log.append(0, {.key = "a"});
    ScriptedEffects effects(always_done);
    LeaseWorker worker(*this, log, effects);
    worker.start();  // there is a fence now
    const Digest digest = scripted_digest("a");
    const Claim claim{digest, std::nullopt, Partition{0}, Offset{0}};
    Leases stale(worker.registered, 60s);
    Leases next(worker.registered, 60s);
    for (Leases* owner : {&stale, &next}) {
        end_all_leases();
        OwnedTransaction transaction(worker.connection);
        EXPECT_EQ(owner->claim(transaction, {"group", "topic"}, {&claim, 1})[0].verdict,
                  LeaseVerdict::mine);
        transaction.commit();
    }
    expect_powerless(stale, worker.connection, digest);
    EXPECT_EQ(lease("a"), "in_flight 2 f");
}

// The partition's new owner took the key over while the effect ran.
TEST_F(LeaseTest, AnEffectThatEndsAfterItsLeaseWasTakenOverMovesNothing) {
    ScriptedLog log(1);
    log.append(0, {.key = "a"});
    ScriptedEffects other(always_done);
    LeaseWorker thief(*this, log, other);
    bool taken = false;
    ScriptedEffects late([&](const std::string&, int) {
        return taken ? std::optional(ScriptedEffects::failed()) : std::nullopt;
    });
    LeaseWorker slow(*this, log, late);
    slow.start();
    late.before_wait = [&] {
        if (taken || late.order.empty()) return;
        end_all_leases();
        thief.run_all();
        taken = true;
    };
    EXPECT_TRUE(slow.run());
    EXPECT_EQ(slow.missed, std::set<Partition>{Partition{0}});
    EXPECT_EQ(lease("a"), "done 2 t");
    EXPECT_EQ(totals(), "1 0 0 0 0");
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 0);
}

TEST_F(LeaseTest, AHeartbeatKeepsTheLeaseOfALongEffect) {
    ScriptedLog log(2);
    log.append(0, {.key = "a"});
    log.append(1, {.key = "a"});
    // It ends once its first lease would have.
    ScriptedEffects slow([&](const std::string& key, int call) {
        const bool over = leases("claimed_at < clock_timestamp() - interval '3500 ms'") == 1;
        return over ? always_done(key, call) : std::nullopt;
    });
    LeaseWorker owner(*this, log, slow, {.lease = 3s, .partitions = {0}});
    owner.start();
    ScriptedEffects never([](const std::string&, int) { return std::nullopt; });
    LeaseWorker rival(*this, log, never, {.lease = 3s, .partitions = {1}});
    rival.start();
    slow.before_wait = [&] {
        EXPECT_FALSE(rival.run()) << "it waits for a key in flight";
        rival.start();
    };
    never.before_wait = [&] {
        if (!never.order.empty()) throw Enough{};
    };
    EXPECT_TRUE(owner.run());
    slow.before_wait = nullptr;
    rival.processor->abandon();
    EXPECT_EQ(slow.calls["a"], 1);
    EXPECT_EQ(never.calls.size(), 0U);
    EXPECT_EQ(lease("a"), "done 1 t");
}

TEST_F(LeaseTest, ADuplicateOfAKeyInFlightWaitsAndTheFenceWithIt) {
    ScriptedLog log(2);
    log.append(0, {.key = "a"});
    log.append(1, {.key = "a"});
    log.append(1, {.key = "b"});
    ScriptedEffects stuck([](const std::string&, int) { return std::nullopt; });
    LeaseWorker owner(*this, log, stuck, {.partitions = {0}});
    owner.start();
    stuck.before_wait = [&] {
        if (!stuck.order.empty()) throw Enough{};
    };
    EXPECT_THROW(owner.run(), Enough);
    ScriptedEffects effects(always_done);
    LeaseWorker other(*this, log, effects, {.partitions = {1}});
    other.start();
    EXPECT_FALSE(other.run());
    EXPECT_LE(other.waited, 5s);
    EXPECT_EQ(fence(1), 0) << "neither applied nor a duplicate yet";
    database().execute("UPDATE leases SET state = 'done', ended_at = now() WHERE digest = '" +
                       uuid_text(scripted_digest("a")) + "'");
    other.run_all();
    EXPECT_EQ(fence(1), 2);
    EXPECT_EQ(other.totals, (Totals{.applied = 1, .duplicates = 1}));
    EXPECT_EQ(effects.calls, (std::map<std::string, int>{{"b", 1}}));
}

TEST_F(LeaseTest, MessagesOfOneRecordKeyGoOneAfterTheOther) {
    ScriptedLog log(1);
    for (int i = 0; i < 12; ++i) {
        log.append(0, {.key = "k" + std::to_string(i), .record_key = i % 2 == 0 ? "even" : "odd"});
    }
    ScriptedEffects effects([](const std::string& key, int call) {
        // A try again does not let the next one of its record key pass.
        return call == 1 && key == "k4" ? ScriptedEffects::again() : ScriptedEffects::done();
    });
    effects.concurrency_ = 8;
    LeaseWorker(*this, log, effects).run_all();
    std::vector<int> even, odd;
    for (const std::string& key : effects.order) {
        const int number = std::stoi(key.substr(1));
        (number % 2 == 0 ? even : odd).push_back(number);
    }
    EXPECT_EQ(even, (std::vector{0, 2, 4, 4, 6, 8, 10}));
    EXPECT_TRUE(std::ranges::is_sorted(odd));
}

TEST_F(LeaseTest, APartitionThatLeavesIsLetGoOfOnceWhatIsUnderWayHasEnded) {
    ScriptedLog log(1);
    append_keys(log, 0, "a", 10);
    std::set<Partition> leaving;
    ScriptedEffects effects([&](const std::string& key, int call) {
        leaving = {Partition{0}};
        return always_done(key, call);
    });
    effects.concurrency_ = 2;
    LeaseWorkerOptions options;
    options.leaving = [&] { return leaving; };
    LeaseWorker worker(*this, log, effects, options);
    worker.start();
    EXPECT_TRUE(worker.run());
    EXPECT_EQ(effects.order.size(), 2U);
    EXPECT_EQ(fence(0), 2);
    EXPECT_EQ(leases("state = 'in_flight' AND lease_until > clock_timestamp()"), 0)
        << "the next owner would have to wait for it";
    EXPECT_EQ(leases("state = 'in_flight' AND attempts > 0"), 0) << "none of these was tried";
}

TEST_F(LeaseTest, WhatIsUnderWayWhenNobodyWaitsAnyLongerKeepsItsLease) {
    ScriptedLog log(1);
    append_keys(log, 0, "a", 2);
    std::set<Partition> overdue;
    ScriptedEffects effects([&](const std::string&, int) -> std::optional<EffectOutcome> {
        overdue = {Partition{0}};
        return std::nullopt;
    });
    effects.concurrency_ = 1;
    LeaseWorkerOptions options;
    options.overdue = [&] { return overdue; };
    LeaseWorker worker(*this, log, effects, options);
    worker.start();
    EXPECT_TRUE(worker.run());
    EXPECT_EQ(effects.cancelled, 1);
    EXPECT_EQ(leases("state = 'in_flight' AND lease_until > clock_timestamp()"), 1);
}

TEST_F(LeaseTest, RetentionCountsFromTheEndAndNeverTakesWhatIsInFlight) {
    ScriptedLog log(1);
    append_keys(log, 0, "a", 3);
    ScriptedEffects effects(always_done);
    LeaseWorker worker(*this, log, effects);
    worker.run_all();
    database().execute(
        "UPDATE leases SET ended_at = now() - interval '25 hours' WHERE record_offset = 0; "
        "UPDATE leases SET ended_at = now() - interval '23 hours' WHERE record_offset = 1; "
        "UPDATE leases SET state = 'in_flight', ended_at = NULL, claimed_at = now() - interval "
        "'9 days', lease_until = now() - interval '9 days' WHERE record_offset = 2; "
        "UPDATE fences SET watermark = now() - interval '2 hours'; "
        "UPDATE ledger_feeds SET partitions = 1, watermark = now()");
    LedgerOptions ledger;
    ledger.name = "calls";
    ledger.store = StoreKind::lease;
    RetentionJob retention({schema_.worker(), {ledger}, 20ms, 1s});
    EXPECT_EQ(retention.look(worker.connection, ledger).leases, 0) << "the wall clock decided";
    database().execute("UPDATE fences SET watermark = now() - interval '30 minutes'");
    EXPECT_EQ(retention.look(worker.connection, ledger).leases, 1);
    EXPECT_EQ(leases("record_offset = 0"), 0);
    database().execute(
        "UPDATE fences SET watermark = now() + interval '9 days'; "
        "UPDATE ledger_feeds SET watermark = now() + interval '9 days'");
    EXPECT_EQ(retention.look(worker.connection, ledger).leases, 1);
    EXPECT_EQ(leases("state = 'in_flight'"), 1);
}

TEST_F(LeaseTest, AKeyIsForgottenByHandButNotWhatSomebodyIsAt) {
    ScriptedLog log(1);
    append_keys(log, 0, "a", 2);
    ScriptedEffects effects(always_done);
    LeaseWorker worker(*this, log, effects);
    worker.run_all();
    database().execute(
        "UPDATE leases SET state = 'in_flight', ended_at = NULL, lease_until = now() + interval "
        "'1 minute' WHERE record_offset = 1");
    Connection operators(schema_.owner());
    const std::vector<Digest> digests{scripted_digest("a0"), scripted_digest("a1")};
    EXPECT_EQ(evict(operators, worker.registered.ledger, digests, "a test", 1s), 1);
    EXPECT_EQ(leases("true"), 1);
    EXPECT_EQ(database().value("SELECT concat_ws(' ', generation, digest) FROM evictions"),
              "0 " + uuid_text(scripted_digest("a0")));
    end_all_leases();
    EXPECT_EQ(evict(operators, worker.registered.ledger, digests, "a test", 1s), 1);
}

}  // namespace
}  // namespace onceward::support
