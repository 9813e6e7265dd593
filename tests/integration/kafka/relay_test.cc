// The outbox's relay between a real server and a real broker. What it sent is read from Kafka, what
// it left from the table.

#include <atomic>
#include <stdexcept>

#include "schemas/queries.h"
#include "sinks/table/table_sink.h"
#include "tests/integration/kafka/relay_fixture.h"
#include "tests/support/core_harness.h"

namespace onceward::kafka_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(RelayTest, EachRowArrivesOnceInTheOrderOfItsKeyUnderItsIdAndIsDeleted) {
    std::map<std::string, std::vector<std::string>> expected;
    RunningRelay relay(options());
    for (int batch = 0; batch < 10; ++batch) {
        for (int key = 0; key < 7; ++key) {
            const std::string name = "key-" + std::to_string(key);
            const auto payloads = numbered(name + "-" + std::to_string(batch), 10);
            write(payloads, name);
            expected[name].insert(expected[name].end(), payloads.begin(), payloads.end());
        }
    }
    ASSERT_TRUE(all_sent());
    EXPECT_EQ(read().size(), 700U);
    EXPECT_EQ(by_key(), expected);
    expect_ids();
    EXPECT_EQ(relay.counts().sent, 700);
}

TEST_F(RelayTest, ARowWhoseTransactionCommitsLateIsSentTooThoughLaterOnesAreGone) {
    RunningRelay relay(options());
    Connection slow(scene_.schema().worker());
    {
        OwnedTransaction first(slow);
        insert(first, {"early"}, "a");
        write({"late"}, "b");
        ASSERT_TRUE(eventually(patience, [&] { return relay.counts().sent == 1; }));
        ASSERT_TRUE(all_sent());
        first.commit();
    }
    EXPECT_TRUE(eventually(patience, [&] { return relay.counts().sent == 2; }));
    EXPECT_TRUE(all_sent());
}

TEST_F(RelayTest, WhatItsTransactionRollsBackIsNeverSent) {
    RunningRelay relay(options());
    {
        OwnedTransaction transaction(connection_);
        insert(transaction, {"never"}, "a");
    }
    write({"marker"}, "a");
    ASSERT_TRUE(all_sent());
    EXPECT_THAT(by_key()["a"], ElementsAre("marker"));
}

TEST_F(RelayTest, WhatKafkaHasAndWasNotDeletedIsSentAgainUnderTheSameId) {
    for (int i = 0; i < 5; ++i) write(numbered("row-" + std::to_string(i), 4), "key");
    std::atomic<int> ends{3};
    support::StepHook hook([&](Step) {
        if (ends.fetch_sub(1) > 0) throw std::runtime_error("the end, for this test");
    });
    RelayOptions cut = options();
    cut.observer = &hook;
    RunningRelay relay(cut);
    ASSERT_TRUE(all_sent());
    expect_ids();
    std::vector<std::string> in_order;
    for (int i = 0; i < 5; ++i) {
        for (const auto& row : numbered("row-" + std::to_string(i), 4)) in_order.push_back(row);
    }
    EXPECT_EQ(by_key()["key"], in_order);
    const std::size_t records = read().size();
    EXPECT_GE(records, 23U) << "the first row, before each of the three ends";
    EXPECT_LE(records, 26U) << "and the one that was under way";
    EXPECT_EQ(relay.counts().restarts, 3);
}

TEST_F(RelayTest, OfTwoRelaysOneSendsAndTheOtherTakesOverWhenItsSessionDies) {
    RunningRelay one(options());
    ASSERT_TRUE(one.leads());
    RunningRelay two(options());
    write(numbered("first", 20), "a");
    ASSERT_TRUE(all_sent());
    EXPECT_EQ(one.counts().sent, 20);
    EXPECT_EQ(two.counts().sent, 0);
    EXPECT_TRUE(stays(500ms, [&] { return !two.counts().leads; })) << "two send at once";
    // The first one pauses after its failure, and the second asks all the time.
    scene_.database().execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity JOIN pg_locks USING (pid) WHERE "
        "locktype = 'advisory' AND application_name = 'onceward outbox'");
    ASSERT_TRUE(two.leads());
    write(numbered("second", 20), "a");
    ASSERT_TRUE(all_sent());
    EXPECT_EQ(two.counts().sent, 20);
    EXPECT_EQ(one.counts().sent, 20);
    EXPECT_FALSE(one.counts().leads);
    EXPECT_EQ(read().size(), 40U);
}

TEST_F(RelayTest, ASleepingRelayIsWokenByACommit) {
    RelayOptions slow = options();
    slow.poll_every = 10min;
    RunningRelay relay(slow);
    for (int round = 0; round < 3; ++round) {
        ASSERT_TRUE(eventually(patience, [&] { return locks() == 2; })) << "it does not sleep";
        write(numbered("round-" + std::to_string(round), 3), "a");
        ASSERT_TRUE(all_sent()) << "nobody woke it";
    }
    // Also by a transaction that had begun before it slept.
    OwnedTransaction open(connection_);
    {
        Connection other(scene_.schema().worker());
        OwnedTransaction wakes(other);
        insert(wakes, {"wakes"}, "a");
        wakes.commit();
    }
    ASSERT_TRUE(eventually(patience, [&] { return waiting() == 0 && locks() == 2; }));
    insert(open, {"open"}, "a");
    open.commit();
    EXPECT_TRUE(all_sent());
}

TEST_F(RelayTest, ARowThatNobodyTellsOfIsSentByTheNextLook) {
    RelayOptions looking = options();
    looking.poll_every = 2s;
    RunningRelay relay(looking);
    const auto sleeps = [&] { return stays(300ms, [&] { return locks() == 2; }); };
    ASSERT_TRUE(eventually(patience, sleeps)) << "it has not looked and found nothing";
    scene_.database().execute(
        "INSERT INTO outbox (consumer_group, topic, id, payload) VALUES ($1, $2, "
        "gen_random_uuid(), 'untold')",
        {scene_.group(), target_});
    EXPECT_TRUE(all_sent(30s)) << "nobody looked";
    EXPECT_EQ(read().size(), 1U);
}

TEST_F(RelayTest, ARelayDoesNotSleepWhileSomebodyWritesWhoWillNotWakeIt) {
    RelayOptions slow = options();
    slow.poll_every = 10min;
    OwnedTransaction writing(connection_);
    insert(writing, {"written before the relay came"}, "a");
    RunningRelay relay(slow);
    ASSERT_TRUE(relay.leads());
    EXPECT_TRUE(stays(500ms, [&] { return locks() < 2; }));
    writing.commit();
    EXPECT_TRUE(all_sent());
}

TEST_F(RelayTest, ARecordThatItsTopicNeverTakesHoldsBackItsOwnKeyAlone) {
    const std::string narrow = support::unique_name("narrow");
    scene_.kafka().create_topic(narrow, partitions, {{"max.message.bytes", "100000"}});
    const CapturedLog log;
    RunningRelay relay(options());
    const std::string large(200'000, 'x');
    write({"before"}, "held", narrow);
    write({large, "behind"}, "held", narrow);
    write(numbered("free", 50), "free", narrow);
    write(numbered("other", 50), "held");
    ASSERT_TRUE(eventually(patience, [&] { return waiting() == 2; }));
    EXPECT_TRUE(stays(2s, [&] { return waiting() == 2; })) << "it was dropped, or overtaken";
    EXPECT_EQ(by_key(narrow)["free"], numbered("free", 50));
    EXPECT_THAT(by_key(narrow)["held"], ElementsAre("before"));
    EXPECT_EQ(by_key()["held"], numbered("other", 50));
    EXPECT_EQ(relay.counts().held_keys, 1);
    EXPECT_EQ(relay.counts().held_topics, 0);
    EXPECT_GE(relay.counts().failed.at(1), 1);
    EXPECT_THAT(log.text(), HasSubstr("outbox.held"));
    EXPECT_THAT(log.text(), HasSubstr("what=\"record\""));
    // What an operator does who has seen to it otherwise.
    scene_.database().execute("DELETE FROM outbox WHERE length(payload) = 200000");
    EXPECT_TRUE(all_sent());
    EXPECT_THAT(by_key(narrow)["held"], ElementsAre("before", "behind"));
}

TEST_F(RelayTest, ATopicThatIsNotThereHoldsBackItselfAloneUntilItIs) {
    const std::string missing = support::unique_name("missing");
    RunningRelay relay(options());
    write(numbered("waits", 20), "a", missing);
    write(numbered("goes", 20), "a");
    ASSERT_TRUE(eventually(patience, [&] { return relay.counts().held_topics == 1; }));
    write(numbered("continues", 20), "b");
    ASSERT_TRUE(eventually(patience, [&] { return waiting() == 20; }));
    EXPECT_GE(relay.counts().failed.at(2), 1);
    scene_.kafka().create_topic(missing, partitions);
    EXPECT_TRUE(all_sent());
    EXPECT_EQ(by_key(missing)["a"], numbered("waits", 20));
    EXPECT_EQ(by_key()["a"], numbered("goes", 20));
    EXPECT_TRUE(eventually(patience, [&] { return relay.counts().held_topics == 0; }));
}

// The plan of a read that leaves out so many keys and rows.
std::string plan_of_read(Connection& connection, const std::string& group, std::size_t left_out) {
    const std::vector<std::optional<std::string_view>> topics{};
    const std::vector<std::optional<std::string_view>> keys(left_out, "held");
    const QueryResult rows = connection.query("EXPLAIN " + std::string(sql::outbox_waiting),
                                              Parameters{group, topics, keys}
                                                  .byte_strings(keys)
                                                  .integers(std::vector<std::int64_t>(left_out, 1))
                                                  .integer(500)
                                                  .integer(1'000'000));
    std::string plan;
    for (int row = 0; row < rows.rows(); ++row) plan += std::string(rows.text(row, 0)) + "\n";
    return plan;
}

void expect_hashes(const std::string& plan) {
    // PostgreSQL 17 names a plan once for each column that it compares.
    EXPECT_GE(times_in(plan, "(hashed SubPlan"), 2) << plan;
    EXPECT_EQ(times_in(plan, "(SubPlan"), 0) << plan;
}

// How many rows of each topic a read finds that leaves nothing out.
std::map<std::string, int> found_by_read(Connection& connection, const std::string& group,
                                         std::int64_t rows, std::int64_t bytes) {
    const std::vector<std::optional<std::string_view>> none{};
    const QueryResult found =
        connection.query(sql::outbox_waiting, Parameters{group, none, none}
                                                  .byte_strings(none)
                                                  .integers(std::vector<std::int64_t>{})
                                                  .integer(rows)
                                                  .integer(bytes));
    std::map<std::string, int> by_topic;
    for (int row = 0; row < found.rows(); ++row) ++by_topic[std::string(found.text(row, 2))];
    return by_topic;
}

// The topics had the same number of rows in a read, so that large ones left no bytes to small ones.
TEST_F(RelayTest, TopicsShareTheBytesOfARead) {
    std::vector<std::string> large = numbered("large", 20);
    for (std::string& row : large) row += std::string(10'000, 'x');
    write(large, "key", "a");
    write(numbered("small", 400), "key", "b");
    std::map<std::string, int> found = found_by_read(connection_, scene_.group(), 500, 100'000);
    EXPECT_GE(found["b"], 350);
    EXPECT_GE(found["a"], 5);
}

// By their bytes alone, the topic with the shorter rows would take nearly all rows of a read.
TEST_F(RelayTest, TopicsShareTheRowsOfARead) {
    std::vector<std::string> longer = numbered("longer", 100);
    for (std::string& row : longer) row += std::string(500, 'x');
    write(numbered("short", 100), "key", "a");
    write(longer, "key", "b");
    std::map<std::string, int> found = found_by_read(connection_, scene_.group(), 100, 1'000'000);
    EXPECT_EQ(found["a"], 50);
    EXPECT_EQ(found["b"], 50);
}

// In the order of their names, the last topics would wait for the backlogs of the first ones.
TEST_F(RelayTest, OfTopicsThatHaveTakenTheSameTheOneWithTheOldestRowIsNext) {
    for (const char* topic : {"z", "a", "m"}) write({topic}, "key", topic);
    EXPECT_THAT(found_by_read(connection_, scene_.group(), 1, 1'000),
                ElementsAre(testing::Pair("z", 1)));
}

// With 1,000 held keys an anti join took 200 ms for each read, and with 10,000 half a minute.
TEST_F(RelayTest, ManyKeysAreLeftOutByAHash) {
    expect_hashes(plan_of_read(connection_, scene_.group(), 1000));
}

// The planner drops the hash if it expects more bytes than work_mem allows.
TEST_F(RelayTest, TheRelaysSessionHasMemoryForTheHashWhateverTheServersDefault) {
    connection_.execute("SET work_mem = '64kB'");
    connection_.query(sql::outbox_session, {"60000ms"});
    expect_hashes(plan_of_read(connection_, scene_.group(), 100'000));
}

TEST_F(RelayTest, AMemoryOfManyRowsIsNotNeeded) {
    RelayOptions small = options();
    small.limits.bytes = 50'000;
    small.limits.rows = 20;
    for (int i = 0; i < 10; ++i) {
        std::vector<std::string> rows = numbered("row-" + std::to_string(i), 20);
        for (std::string& row : rows) row += std::string(5000, 'x');
        write(rows, "key-" + std::to_string(i));
    }
    RunningRelay relay(small);
    ASSERT_TRUE(all_sent());
    EXPECT_EQ(read().size(), 200U);
    expect_ids();
}

TEST_F(RelayTest, WithoutABrokerItStopsInTimeAndLosesNothing) {
    RelayOptions lonely = options();
    lonely.producer.bootstrap_servers = "127.0.0.1:1";
    write(numbered("row", 10), "a");
    {
        RunningRelay relay(lonely);
        ASSERT_TRUE(relay.leads());
        EXPECT_TRUE(stays(500ms, [&] { return waiting() == 10; }));
        relay.stop();
        EXPECT_EQ(relay.counts().failed.at(0), 0) << "it waited until Kafka's client gave up";
    }
    EXPECT_EQ(waiting(), 10);
    RunningRelay relay(options());
    EXPECT_TRUE(all_sent());
    EXPECT_EQ(by_key()["a"], numbered("row", 10));
}

TEST_F(RelayTest, AnotherGroupsRowsAreLeftAlone) {
    RelayOptions other = options();
    other.group = "another";
    RunningRelay relay(other);
    ASSERT_TRUE(relay.leads());
    write({"mine"}, "a");
    EXPECT_TRUE(stays(500ms, [&] { return waiting() == 1; }));
    RunningRelay mine(options());
    EXPECT_TRUE(all_sent());
    EXPECT_EQ(relay.counts().sent, 0);
}

// From topic to topic, in addition to a table, with duplicates and a worker that dies.
TEST_F(RelayTest, EachFreshMessageIsInTheTableAndPublishedAndADuplicateIsNeither) {
    WorkerOptions worker = scene_.options();
    const auto table = worker.topics[0].sink;
    worker.topics[0].sink = [&, table] {
        OutboxOptions outbox;
        outbox.topic = target_;
        outbox.key = {FieldSource::Kind::field, "/id"};
        return std::make_unique<AlsoPublishSink>(table(), outbox);
    };
    scene_.database().execute("ALTER TABLE effects ADD CONSTRAINT odd CHECK (id % 10 <> 0)");
    worker.topics[0].reject.cap_share = 1.0;
    RunningRelay relay(options());
    Worker* running = &scene_.start(worker);
    std::vector<support::ProducedMessage> messages = scene_.make(200, 0);
    scene_.kafka().produce(scene_.topic(), messages);
    scene_.stop(*running);
    scene_.kafka().produce(scene_.topic(), messages);  // all of them again
    worker.number = 1;
    scene_.start(worker);
    ASSERT_TRUE(eventually(patience, [&] {
        return scene_.database().number(
                   "SELECT coalesce(sum(applied + duplicates + "
                   "dead_lettered), 0) FROM fences") == 400;
    }));
    ASSERT_TRUE(all_sent());
    std::multiset<std::string> published;
    std::set<std::string> ids;
    for (const support::ReadMessage& message : read()) {
        published.insert(message.key.value());
        EXPECT_EQ(message.payload, "{\"id\": " + *message.key + "}");
        ids.insert(message.headers.at(0).second.value());
    }
    std::multiset<std::string> applied;
    for (const support::Row& row : scene_.database().execute("SELECT id FROM effects")) {
        applied.insert(*row[0]);
    }
    EXPECT_EQ(applied.size(), 180U);
    EXPECT_EQ(published, applied);
    EXPECT_EQ(ids.size(), 180U);
}

}  // namespace
}  // namespace onceward::kafka_tests
