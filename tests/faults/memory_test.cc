// A small batch that inflates to more memory than the process may have: it leaves once, in order,
// and the next start halts before that batch while everything else continues.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/faults/crash_scene.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::faults {
namespace {

constexpr int bombed = 3;  // the partition
constexpr std::size_t bomb_bytes = 300'000'000;

std::int64_t fence_of(CrashScene& scene, int partition) {
    return scene.database().number("SELECT next_offset FROM fences WHERE partition = " +
                                   std::to_string(partition));
}

// 300 KB on the broker's disk.
void send_bomb(CrashScene& scene) {
    support::Kafka kafka(support::kafka_bootstrap_servers(),
                         {{"compression.codec", "gzip"}, {"message.max.bytes", "400000000"}});
    kafka.produce(scene.topic(),
                  {{.partition = bombed,
                    .key = {},
                    .payload = R"({"id": 0, "account": ")" + std::string(bomb_bytes, 'a') + R"("})",
                    .headers = {{"Idempotency-Key", "bomb"}}}});
}

int offsets(CrashScene& scene, std::vector<std::string> arguments) {
    ChildOptions options;
    options.command = {ONCEWARD_EXECUTABLE, "offsets"};
    options.command.insert(options.command.end(), arguments.begin(), arguments.end());
    for (const std::string& common :
         {std::string("--dsn"), scene.server().worker_dsn, std::string("--schema"),
          scene.schema(), std::string("--group"),
          scene.database().value("SELECT min(consumer_group) FROM fences"), std::string("--topic"),
          scene.topic(), std::string("--partition"), std::to_string(bombed)}) {
        options.command.push_back(common);
    }
    ChildProcess process(options);
    const auto status = process.wait(patience);
    return status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
}

void expect_end_for_memory(CrashScene& scene, ChildProcess& worker) {
    const std::optional<int> status = worker.wait(patience);
    ASSERT_TRUE(status && WIFEXITED(*status)) << scene.last_log();
    EXPECT_EQ(WEXITSTATUS(*status), 75) << scene.last_log();
}

// The fence of each partition is at its end, but for the bombed one.
bool others_drained(CrashScene& scene) {
    return support::eventually(patience, [&] {
        for (int partition = 0; partition < CrashScene::partitions; ++partition) {
            const auto end = support::kafka().offsets(scene.topic(), partition).second;
            if (partition != bombed && fence_of(scene, partition) < end) return false;
        }
        return true;
    });
}

TEST(MemoryBudget, ADecompressionBombEndsTheProcessOnceAndThenHaltsItsPartitionAlone) {
    SceneOptions options;
    options.more = "memory: {budget: 200MiB}\n";
    CrashScene scene(support::seed(), options);
    scene.send(600);
    ChildProcess first = scene.start_worker();
    ASSERT_TRUE(scene.drained(patience)) << scene.last_log();
    const std::int64_t bomb = fence_of(scene, bombed);
    send_bomb(scene);
    expect_end_for_memory(scene, first);
    const std::string place = "topic=\"" + scene.topic() + "\" partition=" + std::to_string(bombed);
    EXPECT_TRUE(scene.logged("memory.suspect " + place + " offset=" + std::to_string(bomb),
                             std::chrono::milliseconds(0)))
        << scene.last_log();

    scene.send(600);
    ChildProcess second = scene.start_worker();
    EXPECT_TRUE(scene.logged(
        "partition.halted " + place + " reason=\"memory\" offset=" + std::to_string(bomb),
        patience))
        << scene.last_log();
    EXPECT_TRUE(others_drained(scene)) << scene.last_log();
    EXPECT_TRUE(second.running());
    EXPECT_EQ(fence_of(scene, bombed), bomb);

    // The operator tries again, with no more memory than before.
    EXPECT_EQ(offsets(scene, {"retry"}), 0);
    expect_end_for_memory(scene, second);
    ChildProcess third = scene.start_worker();
    EXPECT_TRUE(scene.logged("reason=\"memory\"", patience)) << scene.last_log();
    EXPECT_EQ(offsets(scene, {"skip", "--offset", std::to_string(bomb), "--to",
                              std::to_string(bomb + 1), "--reason", "bomb", "--yes"}),
              0);
    EXPECT_TRUE(support::eventually(patience, [&] {
        return fence_of(scene, bombed) == support::kafka().offsets(scene.topic(), bombed).second;
    })) << scene.last_log();
    EXPECT_EQ(scene.database().value("SELECT concat_ws(' ', partition, begin_offset, end_offset, "
                                     "reason) FROM skipped_ranges"),
              std::to_string(bombed) + " " + std::to_string(bomb) + " " + std::to_string(bomb + 1) +
                  " bomb");
    EXPECT_EQ(scene.database().number("SELECT count(*) FROM payments"),
              scene.database().number("SELECT count(DISTINCT key) FROM payments"));
    scene.stop_worker(third);
}

}  // namespace
}  // namespace onceward::faults
