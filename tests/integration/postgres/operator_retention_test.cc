// `onceward retention`: what a ledger keeps, what holds it back, and one step by hand.

#include "cli/configuration/units.h"
#include "dedup/once.h"
#include "dedup/retention/ledger_view.h"
#include "schemas/queries.h"
#include "tests/integration/postgres/operator_scene.h"

namespace onceward::operator_tests {
namespace {

class RetentionByHand : public Operator {
  protected:
    // One sealed generation with a claim in it, sealed so long ago.
    void sealed(const std::string& ago) {
        claim(1, uuid_of("record_key", "k-1"), 41);
        rotate(1);
        database().execute(
            "UPDATE generations SET created_at = clock_timestamp() - $1::interval, "
            "sealed_at = clock_timestamp() - $1::interval WHERE generation = 1",
            {ago});
    }
    void watermarks(const std::string& ago) {
        database().execute("UPDATE fences SET watermark = clock_timestamp() - $1::interval", {ago});
        database().execute(
            "UPDATE ledger_feeds SET partitions = 1, watermark = clock_timestamp() - $1::interval",
            {ago});
    }
};

// Follows what the step logs.
TEST_F(RetentionByHand, EachLedgerShowsWhatItKeepsAndWhatHoldsItBack) {
    fence(0, 100);
    sealed("3 days");
    watermarks("3 days");
    const Outcome outcome = run({"retention", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    const auto ledger = outcome.json()[0];
    EXPECT_EQ(ledger["ledger"], "orders");
    EXPECT_EQ(ledger["generations"], 2);
    EXPECT_EQ(ledger["retention_seconds"], 86400);
    EXPECT_GT(ledger["held_back_seconds"], 47 * 3600);
    EXPECT_EQ(ledger["held_back_by"][0]["topic"], "orders");
    const Outcome text = run({"retention", "--ledger", "orders"});
    EXPECT_THAT(text.output, HasSubstr("group billing topic orders partition 0: passed up to"));
    EXPECT_EQ(run({"retention", "--ledger", "refunds"}).exit_code, 3);
}

TEST_F(RetentionByHand, AViewAddsUpTheGenerationsOfItsLedger) {
    Connection worker(schema_.worker());
    const auto view = [&](const std::optional<std::string>& name,
                          const std::optional<std::string>& group) {
        return view_ledgers(worker, name, group);
    };
    EXPECT_EQ(view({}, {}).at(0).bytes, 8192) << "an index of one page";
    fence(0, 100);
    sealed("3 days");
    watermarks("3 days");
    const LedgerView ledger = view("orders", "billing").at(0);
    EXPECT_EQ(ledger.generations, 2);
    EXPECT_FALSE(ledger.takes_requests) << "a topic feeds it";
    EXPECT_GT(ledger.claims, 0);
    EXPECT_GE(ledger.bytes, 3 * 8192);
    EXPECT_NEAR(static_cast<double>(ledger.held_back.count()), 48 * 3600, 60);
    EXPECT_NEAR(static_cast<double>(ledger.oldest_age.count()), 72 * 3600, 60);
    EXPECT_TRUE(view("refunds", {}).empty());
    EXPECT_TRUE(view({}, "nobody").empty());
    EXPECT_EQ(retention_holders(worker, ledger_, 1).size(), 1U);
}

// The first number that a newcomer compares with what was sent.
TEST_F(RetentionByHand, FewClaimsAreCountedAndManyAreEstimated) {
    const auto shown = [&](const std::string& ledger) {
        return run({"retention", "--ledger", ledger, "--json"}).json()[0];
    };
    EXPECT_EQ(shown("orders")["claims_estimated"], 0);
    claim(1, uuid_of("record_key", "k-1"), 41);
    EXPECT_EQ(shown("orders")["claims_estimated"], 1);
    EXPECT_EQ(shown("orders")["claims_counted"], true);
    Connection worker(schema_.worker());
    const int log =
        register_ledger(worker, {.name = "fast", .store = StoreKind::log}, "billing", "orders")
            .ledger;
    database().execute("INSERT INTO claims_" + std::to_string(log) +
                       "_1 (source, partitions, first_offsets, last_offsets, digests) VALUES (1, "
                       "'{0}', '{5}', '{5}', uuid_send(gen_random_uuid()))");
    EXPECT_EQ(shown("fast")["claims_estimated"], 1);
    database().execute(
        "INSERT INTO claims_" + std::to_string(log) +
        "_1 (source, partitions, first_offsets, last_offsets, digests) SELECT 1, '{0}', '{5}', "
        "'{9}', string_agg(uuid_send(gen_random_uuid()), '') FROM generate_series(1, 5000), "
        "generate_series(1, 20) AS batch (number) GROUP BY number");
    EXPECT_EQ(shown("fast")["claims_estimated"], 100'001);
    EXPECT_THAT(run({"retention", "--ledger", "fast"}).output, HasSubstr("100001"));
    database().execute(
        "INSERT INTO claims_" + std::to_string(ledger_) +
        "_1 (digest, record_offset, partition, source) SELECT gen_random_uuid(), number, 0, 1 "
        "FROM generate_series(1, 300000) AS number");
    EXPECT_EQ(shown("orders")["claims_counted"], false);
    EXPECT_THAT(run({"retention", "--ledger", "orders"}).output, HasSubstr("about 30"));
}

TEST_F(RetentionByHand, OneStepLetsGoOfWhatHasExpired) {
    fence(0, 100);
    sealed("3 days");
    watermarks("1 minute");
    EXPECT_EQ(run({"retention", "--run-once"}).exit_code, 64) << "without a configuration";
    const Configured configured("127.0.0.1:1", "    ledger: {name: orders}\n");
    const Outcome outcome = run({"retention", "--run-once", "-c", configured.file(), "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_EQ(outcome.last_json()[0]["expired"], 1);
    EXPECT_EQ(outcome.last_json()[0]["tables_dropped"], 0);
    EXPECT_EQ(database().number("SELECT count(*) FROM generations"), 1);
    const Outcome next = run({"retention", "--run-once", "-c", configured.file(), "--json"});
    EXPECT_EQ(next.last_json()[0]["expired"], 0);
    EXPECT_EQ(next.last_json()[0]["tables_dropped"], 1) << "of what was unlisted before it";
}

TEST_F(RetentionByHand, AStepIsInTheAuditLogIfItDidSomething) {
    fence(0, 100);
    sealed("3 days");
    watermarks("1 minute");
    const Configured configured("127.0.0.1:1", "    ledger: {name: orders}\n");
    for (int step = 0; step < 3; ++step) {
        const Outcome outcome = run({"retention", "--run-once", "-c", configured.file()});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    }
    const auto rows = database().execute(
        "SELECT way, target, outcome, details::text FROM audit_log WHERE act = 'retention' "
        "ORDER BY entry");
    ASSERT_EQ(rows.size(), 2U) << "the third step had nothing to do";
    EXPECT_THAT(rows[0],
                testing::ElementsAre("command", "ledger orders", "done", R"({"expired": 1})"));
    EXPECT_THAT(rows[1], testing::ElementsAre("command", "ledger orders", "done",
                                              R"({"tables_dropped": 1})"));
}

TEST_F(RetentionByHand, AStepThatTheAuditLogDoesNotTakeIsReportedOnce) {
    fence(0, 100);
    sealed("3 days");
    watermarks("1 minute");
    database().execute("ALTER TABLE audit_log ADD CHECK (act <> 'retention')");
    const Configured configured("127.0.0.1:1", "    ledger: {name: orders}\n");
    const Outcome outcome = run({"retention", "--run-once", "-c", configured.file(), "--json"});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
    ASSERT_EQ(outcome.last_json().size(), 1U) << outcome.output;
    EXPECT_EQ(outcome.last_json()[0]["expired"], 1);
    EXPECT_THAT(outcome.last_json()[0]["not_audited"].dump(), HasSubstr("23514"));
    EXPECT_EQ(database().number("SELECT count(*) FROM generations"), 1) << "it was taken";
}

// No topic names those of once() and of the inbox, and a service may have no configuration at all.
TEST_F(RetentionByHand, OneStepIsAlsoOfTheLedgersOfServices) {
    Connection worker(schema_.worker());
    const OnceLedger calls(worker, {.ledger = "calls"});
    database().execute("SELECT register_ledger('payments'), register_ledger('leases', 'lease')");
    database().execute("SELECT rotate_ledger(ledger, 1) FROM ledgers WHERE name <> 'orders'");
    database().execute(
        "UPDATE generations SET created_at = clock_timestamp() - interval '3 days', sealed_at = "
        "clock_timestamp() - interval '3 days' WHERE sealed_at IS NOT NULL");
    const auto stepped = [](const Outcome& outcome) {
        std::vector<std::string> names;
        for (const auto& step : outcome.last_json()) {
            names.push_back(step["ledger"].get<std::string>() + " " +
                            std::to_string(step["expired"].get<int>()));
        }
        return names;
    };
    const Outcome one = run({"retention", "--run-once", "--ledger", "payments", "--json"});
    EXPECT_EQ(one.exit_code, 0) << one.output;
    EXPECT_THAT(stepped(one), testing::ElementsAre("payments 1"));
    const Configured configured("127.0.0.1:1", "    ledger: {name: orders}\n");
    const Outcome all = run({"retention", "--run-once", "-c", configured.file(), "--json"});
    EXPECT_EQ(all.exit_code, 0) << all.output;
    EXPECT_THAT(stepped(all),
                testing::ElementsAre("orders 0", "calls 1", "leases 1", "payments 0"));
    // A topic feeds it too: its process has the options.
    register_ledger(worker, {.name = "payments"}, "billing", "refunds");
    EXPECT_EQ(run({"retention", "--run-once", "--ledger", "payments"}).exit_code, 3);
}

TEST_F(RetentionByHand, HoursHoldItBackAndAStepOfAnyHourDoesNot) {
    fence(0, 100);
    sealed("3 days");
    watermarks("1 minute");
    const auto now = std::chrono::floor<std::chrono::minutes>(std::chrono::system_clock::now());
    const auto later = [&](int hours) {
        const auto time = (now + std::chrono::hours(hours)).time_since_epoch();
        return time % std::chrono::hours(24);
    };
    const std::string hours = hours_text({later(2), later(22)});
    const Configured configured("127.0.0.1:1",
                                "    ledger: {name: orders, purge_hours: " + hours + "}\n");
    const Outcome shown = run({"retention", "-c", configured.file()});
    EXPECT_THAT(shown.output, HasSubstr("within its purge_hours only, " + hours + " UTC"));
    const auto json = run({"retention", "-c", configured.file(), "--json"}).json();
    EXPECT_EQ(json[0]["purge_hours"], hours);
    EXPECT_EQ(json[0]["waits_for_hours"], true);
    const std::vector<std::string> step{"retention", "--run-once", "-c", configured.file()};
    EXPECT_THAT(run(step).output, HasSubstr("expired 0, tables dropped 0; what has expired waits"));
    std::vector<std::string> now_then = step;
    now_then.push_back("--any-hour");
    EXPECT_THAT(run(now_then).output, HasSubstr("expired 1, tables dropped 0"));
    EXPECT_THAT(run(now_then).output, HasSubstr("expired 0, tables dropped 1"));
}

// From then on its claims are counted, not estimated.
TEST_F(RetentionByHand, OneStepMakesASegmentOfALog) {
    Connection worker(schema_.worker());
    const int log =
        register_ledger(worker, {.name = "fast", .store = StoreKind::log}, "billing", "orders")
            .ledger;
    database().execute("INSERT INTO claims_" + std::to_string(log) +
                       "_1 (source, partitions, first_offsets, last_offsets, digests) VALUES (1, "
                       "'{0}', '{5}', '{9}', uuid_send(gen_random_uuid()) || "
                       "uuid_send(gen_random_uuid()))");
    database().execute("SELECT rotate_ledger($1, 1)", {std::to_string(log)});
    const Configured configured("127.0.0.1:1", "    ledger: {name: fast, store: log}\n");
    const Outcome step = run({"retention", "--run-once", "-c", configured.file(), "--json"});
    EXPECT_EQ(step.exit_code, 0) << step.output;
    EXPECT_EQ(step.last_json()[0]["sealed"], true) << step.output;
    const Outcome shown = run({"retention", "--ledger", "fast", "--json"});
    EXPECT_EQ(shown.json()[0]["generations"], 2);
    EXPECT_EQ(shown.json()[0]["claims_estimated"], 2) << shown.output;
    EXPECT_GT(shown.json()[0]["bytes"], 3 * 8192);
}

// 2BP01: no DROP of a table that somebody's view reads.
TEST_F(RetentionByHand, OneLedgerThatFailsLeavesTheOthersTheirStepAndIsAFailure) {
    Connection worker(schema_.worker());
    const int refunds = register_ledger(worker, {.name = "refunds"}, "billing", "refunds").ledger;
    for (const int ledger : {ledger_, refunds}) {
        database().execute("CREATE TABLE claims_" + std::to_string(ledger) + "_999 ()");
    }
    database().execute("CREATE VIEW report AS SELECT count(*) FROM claims_" +
                       std::to_string(ledger_) + "_999");
    const Configured configured("127.0.0.1:1",
                                "    ledger: {name: orders}\n"
                                "  - name: refunds\n"
                                "    format: json\n"
                                "    key: {sources: [{field: /id}]}\n"
                                "    sink: {table: refunds, columns: {id: /id}}\n"
                                "    ledger: {name: refunds}\n");
    const Outcome outcome = run({"retention", "--run-once", "-c", configured.file(), "--json"});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("\"message\":\"ledger orders: SQLSTATE 2BP01"));
    const nlohmann::json steps = outcome.last_json();
    ASSERT_EQ(steps.size(), 2U) << outcome.output;
    EXPECT_EQ(steps[0]["ledger"], "orders");
    EXPECT_EQ(steps[0]["failed"], true);
    EXPECT_EQ(steps[0]["sqlstate"], "2BP01");
    EXPECT_EQ(steps[1]["ledger"], "refunds");
    EXPECT_EQ(steps[1]["failed"], false);
    EXPECT_EQ(steps[1]["tables_dropped"], 1);
    const Outcome text = run({"retention", "--run-once", "-c", configured.file()});
    EXPECT_EQ(text.exit_code, 1) << text.output;
    EXPECT_THAT(text.output, HasSubstr("refunds: rotated false"));
}

TEST_F(RetentionByHand, AnotherProcesssLookIsNotWaitedFor) {
    Connection other(schema_.worker());
    ASSERT_TRUE(other.query(sql::retention_leader, Parameters{}.text(std::to_string(ledger_)))
                    .boolean(0, 0));
    const Configured configured("127.0.0.1:1", "    ledger: {name: orders}\n");
    const Outcome outcome = run({"retention", "--run-once", "-c", configured.file()});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("another process is working on it"));
}

}  // namespace
}  // namespace onceward::operator_tests
