// Static members (KIP-345) that are killed within a rebalance.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/faults/crash_scene.h"
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

}  // namespace
}  // namespace onceward::faults
