// A ledger becomes a log under running workers: they take it up without a restart, and nothing is
// lost or applied twice.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dedup/retention/conversion.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;
using testing::HasSubstr;

std::string convert(Scene& scene, const WorkerOptions& options) {
    const std::string ledger = options.topics[0].ledger.name;
    Connection owner(scene.schema().owner());
    convert_to_log(owner, ledger, {.sealing = {.lock_timeout = 5s}});
    return scene.database().value("SELECT store FROM ledgers WHERE name = '" + ledger + "'");
}

TEST(ConvertedLedger, WorkersContinueWithTheLog) {
    Scene scene({.partitions = 2});
    WorkerOptions options = scene.options();
    options.topics[0].ledger.any_store = true;
    Worker& worker = scene.start(options);
    std::vector<support::ProducedMessage> repeats = scene.make(50, 0);
    scene.kafka().produce(scene.topic(), repeats);
    scene.count(repeats);
    scene.send(100);
    ASSERT_TRUE(scene.all_applied());
    const CapturedLog log;
    EXPECT_EQ(convert(scene, options), "log");
    // The keys of before are known in the other partition as well.
    for (support::ProducedMessage& message : repeats) message.partition = 1;
    scene.kafka().produce(scene.topic(), repeats);
    scene.count(repeats);
    scene.send(100);
    EXPECT_TRUE(scene.all_applied());
    EXPECT_TRUE(eventually(patience, [&] {
        return scene.database().number("SELECT sum(duplicates) FROM fences") == 50;
    }));
    scene.expect_exact();
    EXPECT_TRUE(log.says("topic.store_changed", 0ms));
    EXPECT_FALSE(log.says("topic.stopped", 0ms)) << log.text();
    EXPECT_TRUE(worker.status().halted.empty());
    EXPECT_GT(scene.database().number("SELECT count(*) FROM claims_1_2"), 0) << "the log's batches";
}

TEST(ConvertedLedger, WithAnExplicitStoreTheTopicStopsAndSaysWhatToWrite) {
    Scene scene;
    const WorkerOptions options = scene.options();
    Worker& worker = scene.start(options);
    scene.send(50);
    ASSERT_TRUE(scene.all_applied());
    EXPECT_EQ(convert(scene, options), "log");
    scene.send(50);
    EXPECT_TRUE(eventually(patience, [&] {
        return Scene::halted(worker).find("write `store: auto` or `store: log`") !=
               std::string::npos;
    })) << Scene::halted(worker);
    EXPECT_EQ(scene.applied(), 50);
}

}  // namespace
}  // namespace onceward::kafka_tests
