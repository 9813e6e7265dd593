// Static members (KIP-345) that are killed and come back within their sessions.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/faults/crash_scene.h"
#include "tests/support/eventually.h"
#include "tests/support/kafka.h"
#include "tests/support/unique.h"

namespace onceward::faults {
namespace {

// One that comes back in time gets the share that it had, without a rebalance. Seen with
// cooperative ones: what it had given up in their first round was nobody's then, and its messages
// waited.
TEST(StaticMembers, OneThatComesBackWithinARebalanceLeavesNoPartitionToNobody) {
    SceneOptions options;
    options.kafka_more = "  instance_id: ${ONCEWARD_TEST_INSTANCE}\n";
    options.kafka_properties = {{"session.timeout.ms", "6000"}, {"max.poll.interval.ms", "12000"}};
    CrashScene scene(support::seed(), options);
    scene.send(500);
    const std::vector<std::string> name{"ONCEWARD_TEST_INSTANCE=first"};
    // The second time it gives up partitions, for the other member.
    ChildProcess first = scene.start_worker("ONCEWARD_KILL_AT=in_rebalance:2", name);
    ASSERT_TRUE(scene.drained(patience)) << scene.last_log();
    ChildProcess second = scene.start_worker({}, {"ONCEWARD_TEST_INSTANCE=second"});
    const std::optional<int> status = first.wait(patience);
    ASSERT_TRUE(status && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL);
    ChildProcess again = scene.start_worker({}, name);
    scene.send(500);
    EXPECT_TRUE(scene.drained(patience)) << scene.last_log();
    scene.stop_worker(again);
    scene.stop_worker(second);
}

// Seen in seed 308 of the campaign. The leader that comes back takes the partitions that its topic
// has by then for those that it gave out, and to the broker a follower is no reason to rebalance.
TEST(StaticMembers, PartitionsThatWereAddedWhileTheLeaderWasAwayAreGivenOut) {
    SceneOptions options;
    options.kafka_more = "  instance_id: ${ONCEWARD_TEST_INSTANCE}\n";
    options.kafka_properties = {{"session.timeout.ms", "6000"},
                                {"max.poll.interval.ms", "12000"},
                                {"topic.metadata.refresh.interval.ms", "500"}};
    CrashScene scene(support::seed(), options);
    scene.send(100);
    const std::vector<std::string> name{"ONCEWARD_TEST_INSTANCE=first"};
    ChildProcess first = scene.start_worker({}, name);
    ASSERT_TRUE(scene.drained(patience)) << scene.last_log();
    ChildProcess second = scene.start_worker({}, {"ONCEWARD_TEST_INSTANCE=second"});
    ASSERT_TRUE(scene.logged("fence.taken", patience)) << scene.last_log();
    first.send(SIGKILL);
    ASSERT_TRUE(first.wait(patience));
    support::Kafka(support::kafka_bootstrap_servers())
        .add_partitions(scene.topic(), CrashScene::partitions + 2);
    ChildProcess again = scene.start_worker({}, name);
    const std::string added = "\" partition=" + std::to_string(CrashScene::partitions);
    EXPECT_TRUE(support::eventually(std::chrono::seconds(60), [&] {
        return scene.logged_by_any("partition.assigned topic=\"" + scene.topic() + added);
    })) << scene.last_log();
    EXPECT_TRUE(scene.logged_by_any("partition.unowned")) << "nothing was shown";
    scene.stop_worker(again);
    scene.stop_worker(second);
}

}  // namespace
}  // namespace onceward::faults
