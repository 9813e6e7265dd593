// Workers that come and go: every take-over begins at the fence.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;

// The danger line of resolve_ends() in consumer/kafka/kafka_source_rebalance.cc. A broker on the
// same machine is too quick for the race itself: with RD_KAFKA_OFFSET_END in place of a number this
// test passed twice out of two. The mock cluster's slow one shows it, in
// integration/mock/kafka_source_test.cc.
TEST(Rebalance, TakeOversInQuickSuccessionNeverJumpToTheEnd) {
    Scene scene({.partitions = 4});
    scene.send(6000);
    for (int round = 0; round < 12; ++round) {
        WorkerOptions options = scene.options();
        options.batch.messages = 50;
        Worker& worker = scene.start(std::move(options));
        const std::int64_t before = scene.applied();
        EXPECT_TRUE(eventually(patience, [&] { return scene.applied() > before; }));
        scene.stop(worker);
        if (scene.all_applied(0ms)) break;
    }
    scene.start();
    scene.expect_all_once();
}

// Fatal for a consumer: it can only be closed and made again.
TEST(Rebalance, AWorkerWhoseInstanceIdAnotherTookEndsWithTheReasonAndHasLostNothing) {
    Scene scene({.partitions = 2});
    WorkerOptions options = scene.options();
    options.kafka.instance_id = scene.group();
    options.number = 0;
    Worker& fenced = scene.start(options);
    scene.send(200);
    EXPECT_TRUE(scene.all_applied());
    scene.start(options);
    EXPECT_TRUE(eventually(patience, [&] { return fenced.finished().has_value(); }));
    EXPECT_NE(fenced.finished().value_or("").find("fenced"), std::string::npos)
        << fenced.finished().value_or("it continues");
    scene.send(200);
    scene.expect_all_once();
}

struct Membership {
    std::string name;
    std::map<std::string, Secret> properties;
    std::vector<std::string> without;
    bool is_static = false;
};

class Memberships : public testing::TestWithParam<Membership> {
  protected:
    WorkerOptions options(Scene& scene, int number) {
        WorkerOptions options = scene.options();
        for (const auto& [name, value] : GetParam().properties) {
            options.kafka.properties[name] = value;
        }
        for (const std::string& name : GetParam().without) options.kafka.properties.erase(name);
        options.batch.messages = 50;
        options.number = number;
        if (GetParam().is_static) options.kafka.instance_id = scene.group();
        return options;
    }
};

TEST_P(Memberships, JoiningAndLeavingUnderLoadLosesNothingAndRepeatsNothing) {
    Scene scene({.partitions = 3});
    Worker* first = &scene.start(options(scene, 0));
    Worker* second = nullptr;
    for (int round = 0; round < 4; ++round) {
        scene.send(600);
        if (second == nullptr) {
            second = &scene.start(options(scene, 1));
            EXPECT_TRUE(eventually(patience, [&] { return second->status().reading > 0; }));
        } else {
            scene.stop(*first);
            first = second;
            second = nullptr;
        }
        const std::int64_t before = scene.applied();
        scene.send(300);
        eventually(1500ms, [&] { return scene.applied() >= before + 300; });
    }
    scene.expect_all_once();
}

INSTANTIATE_TEST_SUITE_P(
    Protocols, Memberships,
    testing::Values(Membership{"eager", {{"partition.assignment.strategy", "range"}}, {}, false},
                    Membership{"cooperative", {}, {}, false}, Membership{"fixed", {}, {}, true},
                    Membership{"kip848",
                               {{"group.protocol", "consumer"}},
                               {"session.timeout.ms", "heartbeat.interval.ms"},
                               false}),
    [](const auto& info) { return info.param.name; });

TEST(Rebalance, APartitionAddedWhileRunningStartsAtItsBeginning) {
    Scene scene;
    WorkerOptions options = scene.options();
    options.topics[0].start.kind = StartPosition::Kind::latest;
    scene.send(50);
    Worker& worker = scene.start(std::move(options));
    ASSERT_TRUE(eventually(patience, [&] { return worker.status().reading == 1; }));
    EXPECT_EQ(scene.next_offset(0), 50) << "start: latest";
    scene.kafka().add_partitions(scene.topic(), 2);
    // In the new partition before any worker knows of it.
    scene.kafka().produce(scene.topic(), scene.make(100, 1));
    EXPECT_TRUE(eventually(patience, [&] { return scene.applied() == 100; }));
    EXPECT_EQ(scene.fence(1, "first_offset, next_offset"), "0 100");
}

// A worker that gets none of the added partitions has nothing to take over, and must notice all the
// same: keys that were its own may have moved to another worker's partition.
TEST(Rebalance, AddedPartitionsStopEveryWorkerOfALedgerThatReachesOnePartition) {
    SceneOptions two;
    two.partitions = 2;
    Scene scene(two);
    const auto options = [&] {
        WorkerOptions made = scene.options();
        made.topics[0].ledger.store = StoreKind::log;
        made.topics[0].ledger.reach = Reach::partition;
        made.first_retry = 1h;
        return made;
    };
    Worker& first = scene.start(options());
    Worker& second = scene.start(options());
    scene.send(20);
    ASSERT_TRUE(scene.all_applied());
    ASSERT_TRUE(eventually(
        patience, [&] { return first.status().reading == 1 && second.status().reading == 1; }));
    scene.kafka().add_partitions(scene.topic(), 3);
    EXPECT_THAT(Scene::halted(first), testing::HasSubstr("reach: global"));
    EXPECT_THAT(Scene::halted(second), testing::HasSubstr("reach: global"));
    for (int partition = 0; partition < 3; ++partition) {
        scene.kafka().produce(scene.topic(), scene.make(10, partition));
    }
    EXPECT_TRUE(stays(2s, [&] { return scene.applied() == 20; }));
}

}  // namespace
}  // namespace onceward::kafka_tests
