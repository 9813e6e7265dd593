// The fence is the truth; Kafka's committed offset is for dashboards, but for the first time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/operator/offsets_move.h"
#include "consumer/kafka/kafka_source.h"
#include "dedup/ledger/ledger.h"
#include "schemas/queries.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;
using testing::HasSubstr;

std::string committed_metadata(Scene& scene, int partition) {
    SilentListener listener;
    KafkaSource source(scene.options().kafka, 0, {}, listener);
    const auto offset = source.queries().group_offset({scene.topic(), Partition{partition}});
    return offset ? offset->metadata : "none";
}

// What `onceward offsets --set` does.
void move(Scene& scene, std::int64_t offset, bool adopt = false) {
    Connection connection(scene.schema().worker());
    const TopicPartition partition{scene.topic(), Partition{0}};
    FenceMovePlan plan = plan_move(connection, nullptr, scene.group(), partition,
                                   parse_position(std::to_string(offset)), adopt);
    EXPECT_EQ(move_fence(connection, nullptr, scene.group(), plan, "a test", false),
              MoveOutcome::moved);
}

TEST(Offsets, ReadingBeginsAtTheFenceWhateverSomebodyCommitted) {
    Scene scene;
    scene.send(300);
    scene.start();
    ASSERT_TRUE(scene.all_applied());
    scene.stop_all();
    for (const std::int64_t elsewhere : {7, 900}) {
        scene.kafka().set_committed_offset(scene.group(), scene.topic(), 0, elsewhere);
        scene.send(200);
        Worker& worker = scene.start();
        scene.expect_all_once();
        EXPECT_EQ(worker.status().totals.duplicates, 0) << "it read what it had passed";
        scene.stop_all();
    }
}

TEST(Offsets, OurCommitsCarryTheMarkAndNeverPassTheFence) {
    Scene scene;
    WorkerOptions options = scene.options();
    options.batch.messages = 20;
    scene.start(std::move(options));
    const auto committed = [&] {
        return scene.kafka().committed_offset(scene.group(), scene.topic(), 0);
    };
    scene.send(400);
    ASSERT_TRUE(eventually(patience, [&] { return committed().has_value(); }));
    for (int round = 1; round < 8; ++round) {
        scene.send(400);
        // The fence is read afterwards: it only grows.
        const auto sample = committed();
        ASSERT_TRUE(sample.has_value());
        EXPECT_LE(*sample, scene.next_offset(0));
    }
    scene.expect_all_once();
    EXPECT_TRUE(eventually(patience, [&] {
        return scene.kafka().committed_offset(scene.group(), scene.topic(), 0) == 3200;
    }));
    EXPECT_EQ(committed_metadata(scene, 0), "onceward:" + scene.fence(0, "incarnation"));
    scene.stop_all();
    EXPECT_EQ(scene.kafka().committed_offset(scene.group(), scene.topic(), 0), 3200);
}

// Why a rewind to that offset may apply messages a second time. `log` may be null.
std::size_t reasons_against(Scene& scene, BrokerView* log, const std::string& offset) {
    Connection connection(scene.schema().worker());
    return plan_move(connection, log, scene.group(), {scene.topic(), Partition{0}},
                     parse_position(offset), false)
        .repeats.size();
}

// Whatever a ledger's generations are made of, and where they have become segments as well.
TEST(Offsets, ARewindIsWarnedOfWhereTheLogsTimesSayThatClaimsWereLetGoOf) {
    for (const StoreKind store : {StoreKind::table, StoreKind::log}) {
        Scene scene;
        WorkerOptions options = scene.options();
        options.topics[0].ledger.store = store;
        scene.kafka().produce(scene.topic(), scene.make(20, 0));
        scene.start(std::move(options));
        ASSERT_TRUE(eventually(patience, [&] { return scene.next_offset(0) == 20; }));
        scene.stop_all();
        scene.database().execute("SELECT rotate_ledger(ledger, 1) FROM ledgers");
        scene.database().execute("DELETE FROM generations WHERE generation = 1");
        scene.kafka().produce(scene.topic(), scene.make(20, 0));
        BrokerView log(scene.options().kafka);
        scene.database().execute("UPDATE fences SET next_offset = 40 WHERE partition = 0");
        EXPECT_EQ(reasons_against(scene, &log, "19"), 1U);
        EXPECT_EQ(reasons_against(scene, &log, "20"), 0U);
        EXPECT_EQ(reasons_against(scene, nullptr, "20"), 1U) << "nobody tells its time";
    }
}

TEST(Offsets, ARewindOfCallsIsWarnedOfWhereTheLogsTimesAreOlderThanTheRetention) {
    Scene scene;
    std::vector<support::ProducedMessage> old = scene.make(20, 0);
    const auto then = std::chrono::system_clock::now() - 2h;
    for (support::ProducedMessage& message : old) {
        message.timestamp_ms =
            std::chrono::duration_cast<milliseconds>(then.time_since_epoch()).count();
    }
    scene.kafka().produce(scene.topic(), old);
    scene.kafka().produce(scene.topic(), scene.make(20, 0));
    Connection connection(scene.schema().worker());
    register_ledger(connection, {.name = "calls", .store = StoreKind::lease, .retention = 1h},
                    scene.group(), scene.topic());
    scene.database().execute("UPDATE ledgers SET created_at = now() - interval '2 hours'");
    scene.database().execute(
        "INSERT INTO fences (consumer_group, topic, partition, incarnation, owner, first_offset, "
        "next_offset) VALUES ($1, $2, 0, gen_random_uuid(), gen_random_uuid(), 0, 40)",
        {scene.group(), scene.topic()});
    BrokerView log(scene.options().kafka);
    EXPECT_EQ(reasons_against(scene, &log, "19"), 1U);
    EXPECT_EQ(reasons_against(scene, &log, "20"), 0U);
    EXPECT_EQ(reasons_against(scene, nullptr, "20"), 1U) << "nobody tells its time";
}

TEST(Offsets, StoppingCommitsWhatWasDone) {
    Scene scene;
    Worker& worker = scene.start();
    scene.send(100);
    ASSERT_TRUE(scene.all_applied());
    scene.stop(worker);
    EXPECT_EQ(scene.kafka().committed_offset(scene.group(), scene.topic(), 0),
              scene.next_offset(0));
    EXPECT_EQ(committed_metadata(scene, 0), "onceward:" + scene.fence(0, "incarnation"));
}

TEST(Offsets, AnotherConsumersCommittedOffsetIsAdoptedTheFirstTime) {
    Scene scene;
    scene.kafka().produce(scene.topic(), scene.make(120, 0));
    scene.kafka().set_committed_offset(scene.group(), scene.topic(), 0, 120);
    scene.send(80);
    scene.start();
    scene.expect_all_once();
    EXPECT_EQ(scene.fence(0, "first_offset, next_offset"), "120 200");
}

TEST(Offsets, OurMarkWithoutAFenceHaltsUntilSomebodySaysWhereToBegin) {
    Scene scene;
    scene.send(50);
    scene.start();
    ASSERT_TRUE(scene.all_applied());
    scene.stop_all();
    scene.database().execute("DELETE FROM fences");
    Worker& worker = scene.start();
    EXPECT_THAT(Scene::halted(worker), HasSubstr("its fence row is gone"));
    EXPECT_EQ(scene.database().number("SELECT count(*) FROM fences"), 0);
    scene.send(10);
    move(scene, 50);
    EXPECT_TRUE(scene.all_applied());
    EXPECT_EQ(scene.applied(), 60);
}

TEST(Offsets, ARunningWorkerFollowsAFenceThatWasMoved) {
    Scene scene;
    scene.send(200);
    Worker& worker = scene.start();
    ASSERT_TRUE(scene.all_applied());
    scene.database().execute("DELETE FROM effects WHERE kafka_offset >= 150");
    // After the rewind the claims are still known: read again, nothing applied. No message arrives
    // meanwhile, so that the worker must see it while it is idle.
    move(scene, 100);
    EXPECT_TRUE(eventually(patience, [&] { return worker.status().totals.duplicates == 100; }));
    EXPECT_EQ(scene.next_offset(0), 200);
    EXPECT_EQ(scene.applied(), 150);
}

// The worker knew the old topic's id. With that one from memory the fence would be the old topic's
// again, and halt a second time.
TEST(Offsets, AFenceThatIsSetInARecreatedTopicIsReadFromAtOnceByARunningWorker) {
    Scene scene;
    scene.send(50);
    Worker& worker = scene.start();
    ASSERT_TRUE(scene.all_applied());
    const std::string before = scene.fence(0, "topic_id");
    scene.kafka().delete_topic(scene.topic());
    scene.kafka().create_topic(scene.topic(), 1);
    scene.send(10);
    EXPECT_NE(Scene::halted(worker), "");
    const CapturedLog log;
    move(scene, 0, true);
    EXPECT_TRUE(scene.all_applied());
    EXPECT_TRUE(worker.status().halted.empty());
    EXPECT_EQ(log.text().find("partition.halted"), std::string::npos);
    EXPECT_NE(scene.fence(0, "topic_id"), before);
    EXPECT_EQ(scene.next_offset(0), 10);
}

TEST(Offsets, ARetiredGroupIsLeftAloneUntilItIsBroughtBack) {
    Scene scene;
    scene.send(20);
    Worker& worker = scene.start();
    ASSERT_TRUE(scene.all_applied());
    Connection connection(scene.schema().worker());
    const auto group = [&] { return Parameters{}.text(scene.group()).null().null(); };
    connection.query(sql::groups_retire_fences, group());
    scene.send(20);
    EXPECT_THAT(Scene::halted(worker), HasSubstr("retired"));
    EXPECT_EQ(scene.applied(), 20);
    connection.query(sql::groups_restore_fences, group());
    scene.expect_all_once();
}

}  // namespace
}  // namespace onceward::kafka_tests
