// `onceward replay`: what it asks, tells and does, on a real server and librdkafka's mock cluster.

#include "tests/integration/postgres/operator_scene.h"
#include "tests/support/kafka.h"

namespace onceward::operator_tests {
namespace {

class ReplayByHand : public Operator {
  protected:
    // Five messages, of which the group has passed four.
    ReplayByHand() {
        cluster_.create_topic("orders", 2);
        schema_.user_table("orders", "id text");
        std::vector<support::ProducedMessage> messages;
        for (int i = 0; i < 5; ++i) {
            messages.push_back(
                {.partition = 0,
                 .key = {},
                 .payload = R"({"merchant": "acme", "id": ")" + std::to_string(i) + R"("})",
                 .headers = {}});
        }
        support::Kafka(cluster_.bootstrap_servers()).produce("orders", messages);
        fence(0, 4);
    }
    Outcome replay(std::vector<std::string> more, const std::string& ledger = "{name: orders}",
                   const std::string& sink = Configured::table) {
        const Configured configured(cluster_.bootstrap_servers(), "    ledger: " + ledger + "\n",
                                    sink);
        std::vector<std::string> all{"replay", "--topic", "orders",         "--reason",
                                     "a test", "-c",      configured.file()};
        all.insert(all.end(), more.begin(), more.end());
        all.insert(all.end(), {"--dsn",
                               schema_.server().worker_dsn +
                                   " options='-c search_path=" + schema_.name() + "'",
                               "--schema", schema_.name()});
        return onceward(std::move(all));
    }
    std::int64_t rows() { return database().number("SELECT count(*) FROM orders"); }
    // As one that was interrupted after its first offset.
    void reopen() {
        database().execute("UPDATE replays SET finished_at = NULL");
        database().execute(
            "INSERT INTO fences (consumer_group, topic, partition, incarnation, owner, "
            "first_offset, next_offset, applied, topic_id) SELECT 'billing replay ' || replay, "
            "topic, 0, gen_random_uuid(), gen_random_uuid(), 0, 1, 1, '' FROM replays");
    }
    // One sealed generation that is past its retention, and a group that has read everything.
    void age() {
        rotate(1);
        database().execute(
            "UPDATE generations SET created_at = clock_timestamp() - interval '3 days', "
            "sealed_at = clock_timestamp() - interval '3 days' WHERE generation = 1; "
            "UPDATE fences SET watermark = clock_timestamp(); "
            "UPDATE ledger_feeds SET partitions = 1, watermark = clock_timestamp()");
    }
    int expired() {
        const Configured configured("127.0.0.1:1", "    ledger: {name: orders}\n");
        return run({"retention", "--run-once", "-c", configured.file(), "--json"})
            .last_json()[0]["expired"];
    }

    const std::vector<std::string> all_{"--partition", "0", "--from", "0", "--to", "latest"};
    std::vector<std::string> all_and(std::vector<std::string> more) {
        more.insert(more.begin(), all_.begin(), all_.end());
        return more;
    }
    MockCluster cluster_;
};

// Follows what the run logs.
TEST_F(ReplayByHand, ADryRunTellsTheRangeAndChangesNothing) {
    const Outcome plan = replay(all_);
    EXPECT_EQ(plan.exit_code, 0) << plan.output;
    EXPECT_THAT(plan.output, HasSubstr("would read again partition 0: offsets 0 to 3"));
    EXPECT_THAT(plan.output, HasSubstr("offsets 4 to 4 the group has not passed yet"));
    EXPECT_THAT(plan.output, HasSubstr("nothing was changed"));
    EXPECT_EQ(database().number("SELECT count(*) FROM replays"), 0);
    EXPECT_EQ(database().number("SELECT count(*) FROM fences"), 1);
    EXPECT_EQ(rows(), 0);
}

TEST_F(ReplayByHand, ThroughDedupWhatItAppliedIsADuplicateTheNextTime) {
    const Outcome first = replay(all_and({"--yes"}));
    EXPECT_EQ(first.exit_code, 0) << first.output;
    EXPECT_THAT(first.output, HasSubstr("messages 4, applied 4, duplicates 0"));
    EXPECT_EQ(replay(all_and({"--yes", "--json"})).last_json()["duplicates"], 4);
    EXPECT_EQ(rows(), 4);
}

TEST_F(ReplayByHand, WithoutDedupItIsWrittenDownAndASecondTimeIsAskedFor) {
    const std::vector<std::string> past = all_and({"--without-dedup", "--yes"});
    EXPECT_THAT(replay(past).output, HasSubstr("applied 4"));
    EXPECT_EQ(rows(), 4);
    EXPECT_EQ(database().value(
                  "SELECT concat_ws(' ', reason, started_by, applied, description) FROM replays"),
              std::string("a test ") + support::worker_role +
                  " 4 partitions 0 from 0 to latest without dedup");
    const Outcome twice = replay(past);
    EXPECT_EQ(twice.exit_code, 64);
    EXPECT_THAT(twice.output, HasSubstr("--again"));
    EXPECT_EQ(rows(), 4);
    std::vector<std::string> again = past;
    again.push_back("--again");
    EXPECT_EQ(replay(again).exit_code, 0);
    EXPECT_EQ(rows(), 8);
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_" + std::to_string(ledger_) + "_1"),
              0);
}

TEST_F(ReplayByHand, WithoutDedupOneThatWasEndedHalfWayDoesNotCountAsDone) {
    const std::vector<std::string> past = all_and({"--without-dedup", "--yes"});
    EXPECT_EQ(replay(past).exit_code, 0);
    reopen();
    EXPECT_THAT(run({"groups", "retire", "billing replay 1", "--yes"}).output,
                HasSubstr("(read: partition 0 up to offset 1, exclusive)"));
    EXPECT_THAT(database().value("SELECT details::text FROM audit_log WHERE act = 'groups retire'"),
                HasSubstr("partition 0 up to offset 1"));
    const Outcome same = replay(past);
    EXPECT_EQ(same.exit_code, 64) << same.output;
    EXPECT_THAT(same.output, HasSubstr("replay 1 of the same range applied 1 message again"));
    EXPECT_THAT(same.output, HasSubstr("give --from the offset that it had read up to"));
}

// Its claims went before its schema knew how to keep them.
TEST_F(ReplayByHand, OneThatGoesOnWithoutItsClaimsIsRefusedUnlessItMayRepeat) {
    EXPECT_EQ(replay(all_and({"--yes"})).exit_code, 0);
    EXPECT_EQ(rows(), 4);
    reopen();
    EXPECT_EQ(replay(all_and({"--yes"})).exit_code, 0) << "its claims are there";
    EXPECT_EQ(rows(), 4);
    reopen();
    rotate(1);
    database().execute("DELETE FROM generations WHERE generation = 1");
    EXPECT_THAT(replay(all_).output, HasSubstr("partition 0: ledger orders remembers claims since"))
        << "the dry run warns";
    const Outcome refused = replay(all_and({"--yes"}));
    EXPECT_EQ(refused.exit_code, 64) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr("--may-repeat"));
    EXPECT_THAT(refused.output, HasSubstr("partition 0: ledger orders remembers claims since"));
    EXPECT_EQ(rows(), 4) << "applied a second time";
    const Outcome repeated = replay(all_and({"--yes", "--may-repeat"}));
    EXPECT_EQ(repeated.exit_code, 0) << repeated.output;
    EXPECT_EQ(rows(), 7);
}

TEST_F(ReplayByHand, OneThatBeginsWithoutItsClaimsIsRefusedUnlessItMayRepeat) {
    EXPECT_EQ(replay(all_and({"--yes"})).exit_code, 0);
    rotate(1);
    database().execute("DELETE FROM generations WHERE generation = 1");
    const Outcome refused = replay(all_and({"--yes"}));
    EXPECT_EQ(refused.exit_code, 64) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr("--may-repeat"));
    EXPECT_EQ(rows(), 4) << "applied a second time";
    EXPECT_EQ(database().number("SELECT count(*) FROM replays"), 1) << "it holds nothing back";
    EXPECT_EQ(replay(all_and({"--yes", "--may-repeat"})).exit_code, 0);
    EXPECT_EQ(rows(), 8);
}

// A trigger drops them when the replay is recorded, after its plan.
TEST_F(ReplayByHand, OneThatIsRefusedBecauseItsClaimsExpiredMeanwhileHoldsNothingBack) {
    EXPECT_EQ(replay(all_and({"--yes"})).exit_code, 0);
    rotate(1);
    database().execute(
        "CREATE FUNCTION expire() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN "
        "DELETE FROM " +
        schema_.name() + ".generations WHERE generation = 1; RETURN new; END $$");
    database().execute(
        "CREATE TRIGGER expire BEFORE INSERT ON replays FOR EACH ROW EXECUTE FUNCTION expire()");
    const Outcome refused = replay(all_and({"--yes"}));
    EXPECT_EQ(refused.exit_code, 64) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr("partition 0: ledger orders remembers claims since"));
    EXPECT_THAT(refused.output, HasSubstr("--may-repeat"));
    EXPECT_EQ(rows(), 4) << "applied a second time";
    EXPECT_EQ(database().value("SELECT string_agg(concat_ws(' ', replay, finished_at IS NOT NULL, "
                               "ended_by), ', ' ORDER BY replay) FROM replays"),
              "1 t, 2 t " + std::string(support::worker_role));
    EXPECT_EQ(database().number("SELECT count(*) FROM fences"), 1) << "only the group's own";
    EXPECT_EQ(replay(all_and({"--yes", "--may-repeat"})).exit_code, 0);
    EXPECT_EQ(rows(), 8);
}

TEST_F(ReplayByHand, AnOpenOneHoldsItsLedgerBackAndIsNamedUntilItIsRetired) {
    EXPECT_EQ(replay(all_and({"--yes"})).exit_code, 0);
    reopen();
    age();
    EXPECT_EQ(expired(), 0);
    EXPECT_THAT(run({"retention", "--ledger", "orders"}).output,
                HasSubstr("replay 1 of topic orders, which " + std::string(support::worker_role) +
                          " began at "));
    EXPECT_THAT(run({"retention"}).output, HasSubstr("groups retire 'billing replay 1'"));
    const auto holder = run({"retention", "--json"}).json()[0]["held_back_by"][0];
    EXPECT_EQ(holder["replay"], 1) << holder;
    EXPECT_EQ(holder["started_by"], support::worker_role);
    const std::vector<std::string> retire{"groups", "retire", "billing replay 1"};
    const Outcome dry = run(retire);
    EXPECT_EQ(dry.exit_code, 0) << dry.output;
    EXPECT_THAT(dry.output, HasSubstr("would be ended: replay 1 of topic orders"));
    EXPECT_EQ(expired(), 0);
    EXPECT_EQ(run({"groups", "retire", "billing replay 1", "--yes"}).exit_code, 0);
    EXPECT_EQ(database().value("SELECT concat_ws(' ', ended_by, finished_at IS NOT NULL, applied) "
                               "FROM replays"),
              std::string(support::worker_role) + " t 1");
    EXPECT_EQ(database().number("SELECT count(*) FROM fences"), 1) << "only the group's own";
    EXPECT_EQ(expired(), 1);
    EXPECT_EQ(run(retire).exit_code, 3) << "it has ended";
}

// A redrive does so too. In different orders the two could wait for each other.
TEST_F(ReplayByHand, LocksDeadLettersInTheOrderOfTheirNumbers) {
    for (const std::string offset : {"2", "1"}) {
        database().execute(
            "INSERT INTO dead_letters (consumer_group, topic, identity, partition, record_offset, "
            "error_class, reason, attempts) VALUES ('billing', 'orders', 'T', 0, $1, 'sink', "
            "'why', 1)",
            {offset});
    }
    // The row of the first letter is now the table's last.
    database().execute("UPDATE dead_letters SET attempts = 2 WHERE record_offset = 2");
    const std::string letter_at =
        "SELECT dead_letter FROM {schema}.dead_letters WHERE record_offset = ";
    const Outcome done = beside(letter_at + "2 FOR UPDATE", letter_at + "1 FOR UPDATE NOWAIT",
                                [&] { return replay(all_and({"--yes"})); });
    EXPECT_EQ(done.exit_code, 0) << done.output;
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters WHERE resolved_at IS NULL"), 0);
}

TEST_F(ReplayByHand, OnePastDedupHoldsNothingBack) {
    EXPECT_EQ(replay(all_and({"--without-dedup", "--yes"})).exit_code, 0);
    reopen();
    age();
    EXPECT_EQ(expired(), 1);
}

TEST_F(ReplayByHand, WhatIsNotBoundedOrNotClearIsRefused) {
    EXPECT_EQ(replay({"--from", "earliest"}).exit_code, 64);
    EXPECT_EQ(replay({"--to", "latest"}).exit_code, 64);
    EXPECT_THAT(replay({"--from", "0", "--to", "latest"}).output, HasSubstr("--partition"));
    EXPECT_EQ(replay({"--partition", "0", "--from", "3", "--to", "1"}).exit_code, 64);
    EXPECT_THAT(replay({"--from", "soon", "--to", "latest"}).output,
                HasSubstr("--from takes an offset"));
    EXPECT_THAT(replay(all_, "{name: near, store: log, reach: partition}").output,
                HasSubstr("offsets --set"));
    const Outcome calls = replay(all_, "{name: calls, store: lease}",
                                 "    sink: {webhook: {url: 'https://example.com/'}}\n");
    EXPECT_EQ(calls.exit_code, 64);
    EXPECT_THAT(calls.output, HasSubstr("dlq redrive"));
    const Outcome nothing = replay({"--partition", "1", "--from", "0", "--to", "latest"});
    EXPECT_EQ(nothing.exit_code, 3) << nothing.output;
    EXPECT_THAT(nothing.output, HasSubstr("has read nothing of it yet"));
}

}  // namespace
}  // namespace onceward::operator_tests
