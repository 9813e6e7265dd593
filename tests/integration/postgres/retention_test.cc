// What retention may drop and when, against a real server and under the workers' role. Time is
// moved by writing older times into the rows, since nothing here reads the wall clock to decide.

#include "dedup/retention/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "dedup/ledger/ledger.h"
#include "dedup/postgres/transaction.h"
#include "dedup/retention/ledger_view.h"
#include "schemas/queries.h"
#include "tests/support/eventually.h"
#include "tests/support/one_waits.h"
#include "tests/support/postgres.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using support::Database;
using support::FreshSchema;

constexpr std::int64_t lock_class = 1330524999;

class Retention : public testing::Test {
  protected:
    Retention() : worker_(schema_.worker()) {
        options_.name = "orders";
        options_.retention = 24h;
        options_.rotate_after = 1h;
        ledger_ = register_ledger(worker_, options_, "group", "topic").ledger;
    }

    Database& database() { return schema_.database(); }

    RetentionJob job(std::chrono::milliseconds lock_timeout = 1s) {
        return RetentionJob({schema_.worker(), {options_}, 20ms, lock_timeout});
    }
    RetentionReport look() {
        RetentionJob retention = job();
        return retention.look(worker_, options_);
    }
    // The partition's fence, passed up to that long ago; '' for never.
    void fence(int partition, const std::string& ago, const std::string& topic = "topic") {
        database().execute(
            "INSERT INTO fences (consumer_group, topic, partition, incarnation, owner, "
            "first_offset, "
            "next_offset, watermark) VALUES ('group', $1, $2, gen_random_uuid(), "
            "gen_random_uuid(), 0, "
            "10, clock_timestamp() - nullif($3, '')::interval) ON CONFLICT (consumer_group, topic, "
            "partition) DO UPDATE SET watermark = excluded.watermark",
            {topic, std::to_string(partition), ago});
    }
    void feed(int partitions, const std::string& ago, const std::string& topic = "topic") {
        database().execute(
            "UPDATE ledger_feeds SET partitions = $1, watermark = clock_timestamp() - "
            "nullif($2, '')::interval WHERE topic = $3",
            {std::to_string(partitions), ago, topic});
    }
    // Puts a claim into the current generation, seals it, and sets the time of its sealing.
    void seal(const std::string& ago) {
        const std::string current = table();
        claim();
        database().execute(
            "SELECT rotate_ledger($1, (SELECT generation FROM generations WHERE "
            "sealed_at IS NULL))",
            {std::to_string(ledger_)});
        database().execute(
            "UPDATE generations SET created_at = clock_timestamp() - $1::interval, "
            "sealed_at = clock_timestamp() - $1::interval WHERE generation = "
            "(SELECT max(generation) FROM generations WHERE sealed_at IS NOT NULL)",
            {ago});
    }
    void claim() {
        database().execute("INSERT INTO " + table() +
                           " (digest, record_offset, partition, source) "
                           "VALUES (gen_random_uuid(), 1, 0, 1)");
    }
    std::string table() {
        return database().value(
            "SELECT format('claims_%s_%s', ledger, generation) FROM generations "
            "WHERE sealed_at IS NULL AND ledger = " +
            std::to_string(ledger_));
    }
    std::int64_t tables() {
        return database().number(
            "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname ~ "
            "'^claims_[0-9]+_[0-9]+$' AND relnamespace = '" +
            schema_.name() + "'::regnamespace");
    }
    bool watermark_is_held() {
        return !database().execute("SELECT ledger_watermark($1)", {std::to_string(ledger_)})[0][0];
    }

    FreshSchema schema_;
    Connection worker_;
    LedgerOptions options_;
    int ledger_ = 0;
};

TEST_F(Retention, AnExpiredGenerationIsUnlistedAndDropped) {
    seal("25 hours");
    fence(0, "1 minute");
    feed(1, "1 minute");
    EXPECT_EQ(look().unlisted, 1);
    EXPECT_EQ(look().dropped, 1);
    EXPECT_EQ(tables(), 1);
    EXPECT_EQ(look().unlisted, 0) << "the current generation must stay";
}

// What is unlisted already, as after a crash, waits as well: its DROP is the work to be put off.
TEST_F(Retention, OutsideOfItsHoursALedgerSealsAndLetsNothingGo) {
    seal("25 hours");
    fence(0, "1 minute");
    feed(1, "1 minute");
    database().execute("CREATE TABLE claims_" + std::to_string(ledger_) + "_999 ()");
    claim();
    database().execute("UPDATE generations SET created_at = created_at - interval '2 hours'");
    const auto clock = std::chrono::floor<std::chrono::minutes>(std::chrono::system_clock::now());
    const auto now = clock.time_since_epoch() % 24h;
    options_.purge_hours = DailyHours{(now + 2h) % 24h, (now + 22h) % 24h};
    const RetentionReport outside = look();
    EXPECT_TRUE(outside.waits_for_hours && outside.rotated);
    EXPECT_EQ(outside.unlisted + outside.dropped, 0);
    std::swap(options_.purge_hours->begin, options_.purge_hours->end);
    const RetentionReport within = look();
    EXPECT_FALSE(within.waits_for_hours);
    EXPECT_EQ(within.unlisted, 1);
    EXPECT_EQ(within.dropped, 1) << "what was unlisted before";
}

TEST_F(Retention, AGenerationWithinItsRetentionStays) {
    seal("23 hours");
    fence(0, "0 seconds");
    feed(1, "0 seconds");
    EXPECT_EQ(look().unlisted, 0);
    EXPECT_EQ(tables(), 2);
}

TEST_F(Retention, DaysOfDowntimePurgeNothing) {
    seal("10 days");
    fence(0, "10 days");
    feed(1, "1 minute");
    EXPECT_EQ(look().unlisted, 0) << "the wall clock decided";
    fence(0, "9 days 1 hour");
    EXPECT_EQ(look().unlisted, 0);
    fence(0, "8 days 23 hours");
    EXPECT_EQ(look().unlisted, 1);
}

TEST_F(Retention, ARecordFrom2099PurgesNothing) {
    database().execute("INSERT INTO " + table() +
                       " (digest, record_offset, partition, source, "
                       "claimed_at) VALUES (gen_random_uuid(), 1, 0, 1, '2099-01-01')");
    database().execute(
        "INSERT INTO dead_letters (consumer_group, topic, identity, partition, "
        "record_offset, record_timestamp, error_class, reason, attempts) "
        "VALUES ('group', 'topic', 'i', 0, 1, '2099-01-01', 'sink', '', 1)");
    seal("25 hours");
    fence(0, "24 hours 30 minutes");
    feed(1, "1 minute");
    EXPECT_EQ(look().unlisted, 0);
    EXPECT_EQ(tables(), 2);
}

TEST_F(Retention, TheSlowestOfAllPartitionsAndTopicsDecides) {
    register_ledger(worker_, options_, "group", "refunds");
    seal("25 hours");
    feed(2, "1 minute");
    feed(1, "1 minute", "refunds");
    fence(0, "1 minute");
    fence(1, "1 minute");
    fence(0, "2 hours", "refunds");
    EXPECT_EQ(look().unlisted, 0);
    fence(0, "30 minutes", "refunds");
    EXPECT_EQ(look().unlisted, 1);
}

TEST_F(Retention, APartitionThatNobodyOwnsHoldsEverythingBack) {
    seal("10 days");
    fence(0, "1 minute");
    feed(2, "1 minute");
    EXPECT_TRUE(watermark_is_held());
    EXPECT_EQ(look().unlisted, 0);
    fence(1, "");
    EXPECT_TRUE(watermark_is_held()) << "a fence without a watermark was passed over";
    fence(1, "1 minute");
    EXPECT_FALSE(watermark_is_held());
}

TEST_F(Retention, AFenceBeyondTheListDoesNotStandInForOneThatIsMissing) {
    feed(2, "1 minute");
    fence(0, "1 minute");
    fence(5, "1 minute");
    EXPECT_TRUE(watermark_is_held());
}

TEST_F(Retention, AListThatWasNeverSampledOrIsEmptyHoldsEverythingBack) {
    fence(0, "1 minute");
    EXPECT_TRUE(watermark_is_held()) << "never sampled";
    feed(0, "1 minute");
    EXPECT_TRUE(watermark_is_held()) << "empty";
    feed(1, "");
    EXPECT_TRUE(watermark_is_held()) << "known, but not since when";
    feed(1, "1 minute");
    EXPECT_FALSE(watermark_is_held());
}

TEST_F(Retention, ALedgerThatNothingFeedsKeepsAll) {
    database().execute("DELETE FROM ledger_feeds");
    EXPECT_TRUE(watermark_is_held());
}

TEST_F(Retention, WhatIsRetiredHoldsNothingBack) {
    register_ledger(worker_, options_, "group", "refunds");
    seal("25 hours");
    feed(1, "1 minute");
    fence(0, "1 minute");
    feed(2, "10 days", "refunds");
    fence(0, "10 days", "refunds");
    EXPECT_EQ(look().unlisted, 0);
    database().execute("UPDATE ledger_feeds SET retired_at = now() WHERE topic = 'refunds'");
    database().execute("UPDATE fences SET retired_at = now() WHERE topic = 'refunds'");
    EXPECT_EQ(look().unlisted, 1);
}

TEST_F(Retention, SealsByAgeAndBySizeAndKeepsWhatIsEmpty) {
    database().execute(
        "UPDATE generations SET created_at = clock_timestamp() - interval '2 hours'");
    EXPECT_FALSE(look().rotated) << "empty";
    claim();
    EXPECT_TRUE(look().rotated) << "old";
    claim();
    EXPECT_FALSE(look().rotated) << "young and small";
    options_.rotate_claims = 1;
    EXPECT_TRUE(look().rotated) << "big";
}

TEST_F(Retention, TheEstimateOfClaimsIsWithinAPercentWithoutFingerprints) {
    database().execute("INSERT INTO " + table() +
                       " (digest, record_offset, partition, source) "
                       "SELECT gen_random_uuid(), n, 0, 1 FROM generate_series(1, 50000) AS n");
    const std::int64_t bytes = database().number("SELECT pg_relation_size('" + table() + "')");
    EXPECT_NEAR(static_cast<double>(estimated_claims(bytes)), 50'000.0, 500.0);
}

TEST_F(Retention, ANewGenerationHasTheGrantsOfClaims) {
    seal("1 hour");
    const std::string grants = "SELECT relacl::text FROM pg_class WHERE oid = ";
    EXPECT_EQ(database().value(grants + "'" + table() + "'::regclass"),
              database().value(grants + "'claims'::regclass"));
    Database worker(schema_.server().worker_dsn);
    EXPECT_NO_THROW(worker.execute("SELECT FROM " + schema_.name() + "." + table()));
}

TEST_F(Retention, ATimeOfSealingIsNeverOlderThanAClaimInIt) {
    const std::string generation = table();
    const std::string ledger = std::to_string(ledger_);
    Database claimer(schema_.server().dsn);
    claimer.execute("SET search_path = " + schema_.name() +
                    "; BEGIN; SELECT "
                    "pg_advisory_xact_lock_shared(1330524999, " +
                    ledger + ")");
    // The rotation's transaction begins, and with it now(), before the claim is made.
    Database rotating(schema_.server().dsn);
    auto rotation = std::async(std::launch::async, [&] {
        rotating.execute("SELECT " + schema_.name() + ".rotate_ledger(" + ledger + ", 1)");
    });
    EXPECT_TRUE(support::waits_for_a_lock(database(), rotating.pid()));
    claimer.execute("INSERT INTO " + generation +
                    " (digest, record_offset, partition, source, "
                    "claimed_at) VALUES (gen_random_uuid(), 1, 0, 1, clock_timestamp()); COMMIT");
    rotation.get();
    EXPECT_EQ(database().value("SELECT sealed_at > (SELECT max(claimed_at) FROM " + generation +
                               ") FROM generations WHERE generation = 1"),
              "t");
}

TEST_F(Retention, RotatesAlsoWhereTheServersClockWentBack) {
    database().execute("UPDATE generations SET created_at = clock_timestamp() + interval '1 hour'");
    EXPECT_EQ(database().number("SELECT rotate_ledger(" + std::to_string(ledger_) + ", 1)"), 2);
}

TEST_F(Retention, ARotationThatCannotHaveTheLockIsTriedAtTheNextLook) {
    claim();
    options_.rotate_claims = 1;
    Database claimer(schema_.server().dsn);
    claimer.execute("BEGIN; SELECT pg_advisory_xact_lock_shared(" + std::to_string(lock_class) +
                    ", " + std::to_string(ledger_) + ")");
    RetentionJob impatient = job(50ms);
    const RetentionReport report = impatient.look(worker_, options_);
    EXPECT_TRUE(report.busy);
    EXPECT_FALSE(report.rotated);
    claimer.execute("COMMIT");
    EXPECT_TRUE(impatient.look(worker_, options_).rotated);
}

TEST_F(Retention, ADropDoesNotDeadlockWithAReaderThatWaitsForTheLock) {
    seal("25 hours");
    fence(0, "1 minute");
    feed(1, "1 minute");
    ASSERT_EQ(look().unlisted, 1);
    // Has read the generation, and will want the ledger's lock while the DROP waits for this very
    // read.
    Database reader(schema_.server().dsn);
    reader.execute("SET lock_timeout = '2s'; BEGIN; SELECT FROM " + schema_.name() + ".claims_" +
                   std::to_string(ledger_) + "_1");
    RetentionJob patient = job(20s);
    auto looking = std::async(std::launch::async, [&] { return patient.look(worker_, options_); });
    EXPECT_TRUE(support::eventually(10s, [&] {
        return database().number(
                   "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = "
                   "'AccessExclusiveLock' AND pid = " +
                   std::to_string(worker_.pid())) == 1;
    }));
    EXPECT_NO_THROW(reader.execute("SELECT pg_advisory_xact_lock_shared(" +
                                   std::to_string(lock_class) + ", " + std::to_string(ledger_) +
                                   "); COMMIT"));
    EXPECT_EQ(looking.get().dropped, 1);
}

TEST_F(Retention, TablesThatACrashLeftUnlistedAreDropped) {
    seal("1 hour");
    database().execute("DELETE FROM generations WHERE generation = 1");
    EXPECT_EQ(look().dropped, 1);
    EXPECT_EQ(tables(), 1);
}

TEST_F(Retention, AListedGenerationCannotBeDropped) {
    const std::string ledger = std::to_string(ledger_);
    EXPECT_EQ(database().value("SELECT drop_generation(" + ledger + ", 1)"), "f");
    EXPECT_EQ(tables(), 1);
}

TEST_F(Retention, OneSessionAtATimeLooksAtALedger) {
    Connection other(schema_.worker());
    const Parameters key = Parameters{}.text(std::to_string(ledger_));
    ASSERT_TRUE(other.query(sql::retention_leader, key).boolean(0, 0));
    EXPECT_FALSE(look().looked);
    other.query(sql::retention_leader_release, key);
    EXPECT_TRUE(look().looked);
    // It is given back after each look.
    EXPECT_TRUE(other.query(sql::retention_leader, key).boolean(0, 0));
}

TEST_F(Retention, LeadersOfTwoSchemasAreNoRivals) {
    FreshSchema neighbour(schema_.server());
    Connection other(neighbour.worker());
    ASSERT_TRUE(other.query(sql::retention_leader, Parameters{}.text(std::to_string(ledger_)))
                    .boolean(0, 0));
    EXPECT_TRUE(look().looked);
}

TEST_F(Retention, OverdueClaimsAreReported) {
    seal("3 days");
    fence(0, "3 days");
    feed(1, "1 minute");
    EXPECT_TRUE(look().held_back);
    fence(0, "1 minute");
    EXPECT_FALSE(look().held_back);
}

TEST_F(Retention, TheJobCountsItsRunsAndWhatFailed) {
    RetentionJob retention = job();
    std::jthread thread([&](std::stop_token stop) { retention.run(stop); });
    seal("25 hours");
    fence(0, "1 minute");
    feed(1, "1 minute");
    EXPECT_TRUE(support::eventually(10s, [&] { return retention.counts().expired == 1; }));
    EXPECT_TRUE(
        support::eventually(10s, [&] { return retention.counts().last_success.has_value(); }));
    EXPECT_EQ(retention.counts().failures, 0);
    database().execute("ALTER TABLE ledgers RENAME TO hidden");
    EXPECT_TRUE(support::eventually(10s, [&] { return retention.counts().failures > 0; }));
    database().execute("ALTER TABLE hidden RENAME TO ledgers");
    EXPECT_GT(retention.counts().runs, retention.counts().failures);
}

TEST_F(Retention, TheJobGoesOnThroughALostConnectionUntilItIsStopped) {
    RetentionJob retention = job();
    std::jthread thread([&](std::stop_token stop) { retention.run(stop); });
    const std::string mine = "pid <> pg_backend_pid() AND application_name LIKE '%retention'";
    EXPECT_TRUE(support::eventually(10s, [&] {
        return database().number(
                   "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                   "WHERE " +
                   mine) == 1;
    }));
    database().execute("DELETE FROM generations WHERE generation = 1");
    EXPECT_TRUE(support::eventually(10s, [&] { return tables() == 0; }));
}

}  // namespace
}  // namespace onceward
