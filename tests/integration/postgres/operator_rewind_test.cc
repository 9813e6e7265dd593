// What a rewind of fences needs, and what is said of those that were moved.

#include <functional>

#include "cli/operator/offsets_move.h"
#include "tests/integration/postgres/operator_scene.h"

namespace onceward::operator_tests {
namespace {

using testing::Not;

// A log that says here where a time's record is. No broker is asked.
class ToldLog : public BrokerView {
  public:
    ToldLog(const MockCluster& cluster, std::function<Offset()> answer)
        : BrokerView(options_of(cluster)), answer_(std::move(answer)) {}
    Offset offset_at(const TopicPartition&, std::chrono::milliseconds) override {
        ++asked;
        return answer_();
    }
    int asked = 0;

  private:
    static KafkaOptions options_of(const MockCluster& cluster) {
        KafkaOptions options;
        options.bootstrap_servers = cluster.bootstrap_servers();
        options.group = "billing";
        return options;
    }

    std::function<Offset()> answer_;
};

class Rewind : public Operator {
  protected:
    // From 100 to 5, without a process.
    MoveOutcome move_back(BrokerView& log) {
        Connection operators(schema_.owner());
        FenceMovePlan plan{{"orders", Partition{0}}, Offset{100}, Offset{5}};
        return move_fence(operators, &log, "billing", plan, "a test", false);
    }
    // `more`: further words, such as --yes.
    Outcome rewind(int partition, std::vector<std::string> more = {}) {
        more.insert(more.begin(),
                    {"offsets", "--group", "billing", "--topic", "orders", "--partition",
                     std::to_string(partition), "--set", "5", "--reason", "a test"});
        return run(std::move(more));
    }
    // The outcome of a rewind that has planned before it waits.
    Outcome rewind_beside(const std::string& locks, const std::string& changes) {
        return beside(locks, changes, [&] { return rewind(0, {"--yes"}); });
    }
    void drop_claims() {
        claim(1, uuid_of("record_key", "a"), 10);
        rotate(1);
        database().execute("DELETE FROM generations WHERE generation = 1");
    }
    void feed_calls_alone() {
        Connection worker(schema_.worker());
        register_ledger(worker, {.name = "calls", .store = StoreKind::lease}, "billing", "orders");
        database().execute("DELETE FROM ledger_feeds WHERE ledger = $1", {std::to_string(ledger_)});
    }
    std::int64_t fence_of(int partition) {
        return database().number("SELECT next_offset FROM fences WHERE partition = " +
                                 std::to_string(partition));
    }
};

TEST_F(Rewind, WhereClaimsAreGoneNeedsMayRepeatAndMovesNothingWithoutIt) {
    fence(0, 100);
    drop_claims();
    const Outcome dry = rewind(0);
    EXPECT_EQ(dry.exit_code, 0) << dry.output;
    EXPECT_THAT(dry.output, HasSubstr("--may-repeat is needed, because claims are gone"));
    const Outcome refused = rewind(0, {"--yes"});
    EXPECT_EQ(refused.exit_code, 64);
    EXPECT_THAT(refused.output, HasSubstr("orders partition 0: ledger orders remembers claims"));
    EXPECT_THAT(refused.output, HasSubstr("nothing was moved"));
    EXPECT_EQ(fence_of(0), 100);
    const Outcome moved = rewind(0, {"--yes", "--may-repeat"});
    EXPECT_EQ(moved.exit_code, 0) << moved.output;
    EXPECT_THAT(moved.output, HasSubstr("moved orders partition 0: from 100 to 5"));
    EXPECT_EQ(fence_of(0), 5);
}

// Its leases are in no generation, and the first generation of one without results never ends.
TEST_F(Rewind, OfALeaseLedgerThatIsOlderThanItsRetentionNeedsMayRepeat) {
    fence(0, 100);
    feed_calls_alone();
    EXPECT_THAT(rewind(0).output, Not(HasSubstr("--may-repeat"))) << "no lease can be gone yet";
    database().execute(
        "UPDATE ledgers SET created_at = now() - retention - interval '1 hour' WHERE name = "
        "'calls'");
    EXPECT_THAT(rewind(0).output, HasSubstr("--may-repeat is needed, because claims are gone"));
    const Outcome refused = rewind(0, {"--yes"});
    EXPECT_EQ(refused.exit_code, 64);
    EXPECT_THAT(refused.output, HasSubstr("orders partition 0: ledger calls remembers claims"));
    EXPECT_EQ(fence_of(0), 100);
    EXPECT_EQ(rewind(0, {"--yes", "--may-repeat"}).exit_code, 0);
    EXPECT_EQ(fence_of(0), 5);
}

// Workers ask the new ledger alone, in which nothing was dropped.
TEST_F(Rewind, OfATopicThatMovedToAnotherLedgerNeedsMayRepeat) {
    fence(0, 100);
    Connection worker(schema_.worker());
    register_ledger(worker, {.name = "new"}, "billing", "orders");
    const Outcome refused = rewind(0, {"--yes"});
    EXPECT_EQ(refused.exit_code, 64) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr("the topic feeds ledger new and ledger orders"));
    EXPECT_EQ(fence_of(0), 100);
    database().execute("UPDATE ledger_feeds SET retired_at = now() WHERE ledger = $1",
                       {std::to_string(ledger_)});
    EXPECT_THAT(rewind(0).output, HasSubstr("the topic fed ledger orders until"));
    const MockCluster cluster;
    ToldLog log(cluster, [] { return Offset{5}; });
    EXPECT_EQ(move_back(log), MoveOutcome::moved) << "all of its messages are younger than that";
    EXPECT_EQ(fence_of(0), 5);
}

TEST_F(Rewind, WithAllClaimsThereNeedsNoMore) {
    fence(0, 100);
    const Outcome moved = rewind(0, {"--yes"});
    EXPECT_EQ(moved.exit_code, 0) << moved.output;
    EXPECT_EQ(fence_of(0), 5);
}

// By the retention, which had the ledger's lock.
TEST_F(Rewind, WhoseClaimsAreDroppedAfterThePlanMovesNothing) {
    fence(0, 100);
    rotate(1);
    const Outcome refused =
        rewind_beside("SELECT pg_advisory_xact_lock(1330524999, " + std::to_string(ledger_) + ")",
                      "DELETE FROM {schema}.generations WHERE generation = 1");
    EXPECT_EQ(refused.exit_code, 64) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr("orders partition 0: ledger orders remembers claims"));
    EXPECT_THAT(refused.output, HasSubstr("nothing was moved"));
    EXPECT_EQ(fence_of(0), 100);
    EXPECT_EQ(database().number("SELECT count(*) FROM fence_moves"), 0);
}

// A broker may need long for its answer.
TEST_F(Rewind, AsksTheBrokersWhileNothingIsLocked) {
    fence(0, 100);
    drop_claims();
    const MockCluster cluster;
    ToldLog log(cluster, [&] {
        EXPECT_EQ(database().number("SELECT count(*) FROM (SELECT 1 FROM fences FOR UPDATE SKIP "
                                    "LOCKED) AS free"),
                  1);
        EXPECT_EQ(database().number("SELECT pg_try_advisory_xact_lock(1330524999, " +
                                    std::to_string(ledger_) + ")::integer"),
                  1);
        return Offset{5};
    });
    EXPECT_EQ(move_back(log), MoveOutcome::moved);
    EXPECT_EQ(log.asked, 1);
    EXPECT_EQ(fence_of(0), 5);
}

TEST_F(Rewind, WhoseClaimsAreDroppedWhileTheBrokersAreAskedAsksAgain) {
    fence(0, 100);
    drop_claims();
    rotate(2);
    database().execute(
        "UPDATE generations SET created_at = created_at - interval '1 hour' WHERE generation = 2");
    const MockCluster cluster;
    ToldLog log(cluster, [&] {
        database().execute("DELETE FROM generations WHERE generation = 2");
        return Offset{log.asked == 1 ? 5 : 50};
    });
    EXPECT_EQ(move_back(log), MoveOutcome::would_repeat);
    EXPECT_EQ(log.asked, 2);
    EXPECT_EQ(fence_of(0), 100);
}

// With each moment the oldest lease is a later one.
TEST_F(Rewind, OfLeasesIsAskedOnceIfTheirMessagesAreYoung) {
    fence(0, 100);
    feed_calls_alone();
    database().execute(
        "UPDATE ledgers SET created_at = now() - retention - interval '1 hour' WHERE name = "
        "'calls'");
    const MockCluster cluster;
    ToldLog log(cluster, [] { return Offset{5}; });
    EXPECT_EQ(move_back(log), MoveOutcome::moved);
    EXPECT_EQ(log.asked, 1);
    EXPECT_EQ(fence_of(0), 5);
}

TEST_F(Rewind, ThatWasPlannedAsAMoveForwardNeedsItsClaimsToo) {
    fence(0, 2);
    drop_claims();
    const Outcome refused = rewind_beside("SELECT next_offset FROM {schema}.fences FOR UPDATE",
                                          "UPDATE {schema}.fences SET next_offset = 100");
    EXPECT_EQ(refused.exit_code, 64) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr("nothing was moved"));
    EXPECT_EQ(fence_of(0), 100);
}

TEST_F(Rewind, AMoveForwardNeedsNoClaims) {
    fence(0, 2);
    drop_claims();
    EXPECT_EQ(rewind(0, {"--yes"}).exit_code, 0);
    EXPECT_EQ(fence_of(0), 5);
}

// As a redrive does. If they locked them in different orders, the two could wait for each other.
TEST_F(Rewind, LocksDeadLettersInTheOrderOfTheirNumbers) {
    fence(0, 100);
    for (const std::string offset : {"20", "10"}) {
        database().execute(
            "INSERT INTO dead_letters (consumer_group, topic, identity, partition, record_offset, "
            "error_class, reason, attempts) VALUES ('billing', 'orders', 'T', 0, $1, 'sink', "
            "'why', 1)",
            {offset});
    }
    // The row of the first letter is now the table's last.
    database().execute("UPDATE dead_letters SET attempts = 2 WHERE record_offset = 20");
    const std::string letter_at =
        "SELECT dead_letter FROM {schema}.dead_letters WHERE record_offset = ";
    const Outcome moved =
        rewind_beside(letter_at + "20 FOR UPDATE", letter_at + "10 FOR UPDATE NOWAIT");
    EXPECT_EQ(moved.exit_code, 0) << moved.output;
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters WHERE resolved_at IS NULL"), 0);
}

// The broker is asked where each log ends, and PostgreSQL refuses the second of three moves.
TEST_F(Rewind, OfManySaysWhichWereMovedBeforeOneFailed) {
    MockCluster cluster;
    cluster.create_topic("orders", 3);
    const Configured configured(cluster.bootstrap_servers());
    for (int partition = 0; partition < 3; ++partition) fence(partition, 100);
    database().execute(
        "CREATE FUNCTION refuse_one() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF "
        "new.partition = 1 THEN RAISE EXCEPTION 'not this one'; END IF; RETURN new; END $$");
    database().execute(
        "CREATE TRIGGER refuse_one BEFORE UPDATE ON fences FOR EACH ROW EXECUTE FUNCTION "
        "refuse_one()");
    const auto earliest = [&](const char* word) {
        return run({"offsets", "-c", configured.file(), "--topic", "orders", "--set", "earliest",
                    "--reason", "a test", "--yes", word});
    };
    const Outcome failed = earliest("--may-repeat");
    EXPECT_NE(failed.exit_code, 0);
    EXPECT_THAT(failed.output, HasSubstr("moved orders partition 0: from 100 to 0"));
    EXPECT_THAT(failed.output, HasSubstr("orders partition 1 was not moved; of 3 partitions 1 "
                                         "were, before it"));
    EXPECT_EQ(fence_of(0), 0);
    EXPECT_EQ(fence_of(1), 100);
    EXPECT_EQ(fence_of(2), 100);
    EXPECT_THAT(earliest("--json").output, HasSubstr("\"partition\": 0"))
        << "what was moved is the answer, also of one that failed";
}

// The second was where it should go, and a worker moved it on while the first was moved.
TEST_F(Rewind, OfWhichAPartWasMovedIsAFailureAndNotAWrongLine) {
    MockCluster cluster;
    cluster.create_topic("orders", 2);
    const Configured configured(cluster.bootstrap_servers());
    for (int partition = 0; partition < 2; ++partition) fence(partition, 0);
    const Outcome half =
        beside("SELECT next_offset FROM {schema}.fences WHERE partition = 1 FOR UPDATE",
               "WITH retired AS (UPDATE {schema}.ledger_feeds SET retired_at = now()) "
               "UPDATE {schema}.fences SET next_offset = 100 WHERE partition = 1",
               [&] {
                   return run({"offsets", "-c", configured.file(), "--topic", "orders", "--set",
                               "earliest", "--reason", "a test", "--yes"});
               });
    EXPECT_EQ(half.exit_code, 1) << half.output;
    EXPECT_THAT(half.output, HasSubstr("moved orders partition 0"));
    EXPECT_THAT(half.output, HasSubstr("nothing more was moved"));
    EXPECT_EQ(fence_of(1), 100);
}

}  // namespace
}  // namespace onceward::operator_tests
