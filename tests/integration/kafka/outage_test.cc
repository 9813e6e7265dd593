// PostgreSQL or the broker is away for seconds: the worker waits, stays what it was, and continues
// by itself.

#include <gtest/gtest.h>

#include "consumer/produce/producer.h"
#include "dedup/retention/retention.h"
#include "lab/embedded/private_postgres.h"
#include "tests/integration/kafka/own_broker.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;

// Longer than max.poll.interval.ms: a worker that stopped polling would have left the group.
constexpr milliseconds long_away{3500};

PrivatePostgres& own_server() {
    static PrivatePostgres server;
    static const bool prepared = (support::create_worker_role(server.dsn()), true);
    EXPECT_TRUE(prepared);
    return server;
}

SceneOptions on_own_server() {
    SceneOptions options;
    options.postgres = {own_server().dsn(), ""};
    return options;
}

// The member that was there before is there still, and nobody else came.
void expect_member_kept(Scene& scene, const CapturedLog& log) {
    const std::string text = log.text();
    EXPECT_EQ(text.find("partition.revoked"), std::string::npos);
    EXPECT_EQ(scene.database().number("SELECT count(*) FROM dead_letters"), 0);
}

class PostgresAway : public testing::TestWithParam<PrivatePostgres::Stop> {};

TEST_P(PostgresAway, ThePollGoesOnAndTheWorkerComesBackByItself) {
    Scene scene(on_own_server());
    const CapturedLog log;
    WorkerOptions options = scene.options();
    options.batch.messages = 20;
    Worker& worker = scene.start(std::move(options));
    scene.send(50);
    ASSERT_TRUE(scene.all_applied());
    scene.send(1000);
    own_server().stop(GetParam());
    EXPECT_TRUE(eventually(patience, [&] { return !worker.status().connected; }));
    scene.send(100);
    EXPECT_TRUE(
        stays(long_away, [&] { return worker.status().partitions == 1 && !worker.finished(); }));
    own_server().start();
    scene.reconnect();
    scene.expect_all_once();
    expect_member_kept(scene, log);
}

INSTANTIATE_TEST_SUITE_P(Ways, PostgresAway,
                         testing::Values(PrivatePostgres::Stop::fast,
                                         PrivatePostgres::Stop::immediate),
                         [](const auto& info) {
                             return info.param == PrivatePostgres::Stop::fast ? "Fast"
                                                                              : "Immediate";
                         });

struct Refusal {
    std::string name;
    std::string begin;
    std::string end;
};

class PostgresRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(PostgresRefuses, NothingIsDeadLetteredAndTheWorkerComesBackByItself) {
    own_server();
    Scene scene(on_own_server());
    const CapturedLog log;
    Worker& worker = scene.start();
    scene.send(50);
    ASSERT_TRUE(scene.all_applied());
    const std::string role = std::string("ALTER ROLE ") + support::worker_role;
    scene.database().execute(role + GetParam().begin);
    scene.database().execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE usename = '" +
        std::string(support::worker_role) + "'");
    scene.send(100);
    EXPECT_TRUE(log.says("postgres.unreachable"));
    EXPECT_TRUE(stays(long_away, [&] { return worker.status().partitions == 1; }));
    EXPECT_EQ(scene.applied(), 50);
    scene.database().execute(role + GetParam().end);
    scene.expect_all_once();
    expect_member_kept(scene, log);
}

INSTANTIATE_TEST_SUITE_P(
    Codes, PostgresRefuses,
    testing::Values(Refusal{"TooManyConnections", " CONNECTION LIMIT 0", " CONNECTION LIMIT -1"},
                    Refusal{"ReadOnly", " SET default_transaction_read_only = on",
                            " RESET default_transaction_read_only"}),
    [](const auto& info) { return info.param.name; });

SceneOptions on_own_broker() {
    SceneOptions options;
    options.kafka = &own_kafka();
    options.bootstrap_servers = own_broker().bootstrap_servers();
    return options;
}

// A broker that shuts down says for a moment that there are no brokers. Who asks in that moment, as
// this worker, which asks all the time, forgets them all: without KafkaSource::bootstrap_again() it
// never comes back.
TEST(BrokerAway, StoppedAndStartedAgainTheWorkerGoesOnWhereTheFenceStands) {
    Scene scene(on_own_broker());
    WorkerOptions options = scene.options();
    options.kafka.properties.insert_or_assign("topic.metadata.refresh.interval.ms", Secret("20"));
    scene.start(std::move(options));
    scene.send(200);
    ASSERT_TRUE(scene.all_applied());
    scene.send(2000);
    own_broker().stop();
    own_broker().start();
    scene.send(100);
    scene.expect_all_once();
}

// A worker that gets none of the added partitions learns of them only if it asks. After a question
// that failed it must ask again soon, or keys that moved are applied again meanwhile.
TEST(BrokerAway, AddedPartitionsStopEveryWorkerSoonAfterAQuestionThatFailed) {
    SceneOptions two = on_own_broker();
    two.partitions = 2;
    Scene scene(two);
    const CapturedLog log;
    const auto options = [&] {
        WorkerOptions made = scene.options();
        made.topics[0].ledger.store = StoreKind::log;
        made.topics[0].ledger.reach = Reach::partition;
        made.first_retry = 1h;
        // No rebalance: a take-over asks as well.
        made.kafka.properties.insert_or_assign("session.timeout.ms", Secret("60000"));
        made.kafka.properties.insert_or_assign("max.poll.interval.ms", Secret("60000"));
        return made;
    };
    Worker& first = scene.start(options());
    Worker& second = scene.start(options());
    ASSERT_TRUE(eventually(
        patience, [&] { return first.status().reading == 1 && second.status().reading == 1; }));
    own_broker().stop();
    ASSERT_TRUE(
        eventually(patience, [&] { return times_in(log.text(), "watermark.failed") >= 2; }));
    own_broker().start();
    scene.kafka().add_partitions(scene.topic(), 3);
    const auto added = std::chrono::steady_clock::now();
    EXPECT_THAT(Scene::halted(first), testing::HasSubstr("reach: global"));
    EXPECT_THAT(Scene::halted(second), testing::HasSubstr("reach: global"));
    EXPECT_LT(std::chrono::steady_clock::now() - added, 15s);
}

// The same of a producer, whose records would all wait for their time-out.
TEST(BrokerAway, AProducerComesBackThatKnewNoBrokerAnyMore) {
    const std::string topic = support::unique_name("comes_back");
    own_kafka().create_topic(topic, 1);
    ProducerOptions options;
    options.bootstrap_servers = own_broker().bootstrap_servers();
    options.properties.emplace("topic.metadata.refresh.interval.ms", Secret("20"));
    options.bootstrap_again = 1s;
    Producer producer(options);
    const auto send = [&] { producer.send({.topic = topic, .payload = "record"}); };
    send();
    ASSERT_TRUE(producer.flush(patience));
    own_broker().stop();
    send();
    // It asks for brokers while the broker leaves, and while it is away.
    producer.flush(2s);
    own_broker().start();
    send();
    EXPECT_TRUE(producer.flush(patience));
    EXPECT_EQ(producer.delivered(), 3);
    EXPECT_EQ(own_kafka().read_all(topic, 1).size(), 3U);
}

class Expiry : public testing::Test {
  protected:
    Expiry() {
        ledger_.name = scene_.group() + "/" + scene_.topic();
        ledger_.retention = 1s;
        ledger_.rotate_after = 100ms;
        WorkerOptions options = scene_.options();
        options.topics[0].ledger = ledger_;
        scene_.start(std::move(options));
        scene_.send(20);
        EXPECT_TRUE(scene_.all_applied());
    }
    // The number of the generation that was sealed now.
    std::string seal() {
        EXPECT_TRUE(eventually(patience, [&] { return job_.look(connection_, ledger_).rotated; }));
        return scene_.database().value(
            "SELECT max(generation) FROM generations WHERE sealed_at IS NOT NULL");
    }
    bool listed(const std::string& generation) {
        job_.look(connection_, ledger_);
        return scene_.database().number("SELECT count(*) FROM generations WHERE generation = " +
                                        generation) == 1;
    }

    Scene scene_{on_own_broker()};
    LedgerOptions ledger_;
    Connection connection_{scene_.schema().worker()};
    RetentionJob job_{RetentionOptions{scene_.schema().worker(), {}}};
};

TEST_F(Expiry, AGenerationGoesWhenTheWatermarkHasPassedIt) {
    const std::string sealed = seal();
    EXPECT_TRUE(eventually(patience, [&] { return !listed(sealed); }));
}

TEST_F(Expiry, NothingExpiresWhileTheBrokerIsCutOff) {
    own_broker().freeze();
    const std::string sealed = seal();
    EXPECT_TRUE(stays(3s, [&] { return listed(sealed); }));
    own_broker().thaw();
    EXPECT_TRUE(eventually(patience, [&] { return !listed(sealed); }));
}

}  // namespace
}  // namespace onceward::kafka_tests
