// `onceward pause` and `onceward resume`, as an operator runs them, on two workers of a group.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "dedup/ledger/ledger.h"
#include "lab/embedded/child_process.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;
using testing::HasSubstr;

constexpr milliseconds some_looks{2500};  // two looks of the workers, and a batch

int run(Scene& scene, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), ONCEWARD_EXECUTABLE);
    for (const std::string& argument :
         {std::string("--dsn"), scene.schema().server().dsn, std::string("--schema"),
          scene.schema().name(), std::string("--group"), scene.group()}) {
        arguments.push_back(argument);
    }
    ChildOptions options;
    options.command = std::move(arguments);
    ChildProcess process(options);
    const auto status = process.wait(patience);
    return status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
}

TEST(Pause, StopsATopicInAllWorkersWithoutARebalanceAndResumeReadsOnFromTheFence) {
    Scene scene({.partitions = 2});
    Worker& one = scene.start();
    Worker& two = scene.start();
    const auto one_each = [&] { return one.status().reading == 1 && two.status().reading == 1; };
    ASSERT_TRUE(eventually(patience, one_each));
    scene.send(200);
    ASSERT_TRUE(scene.all_applied());
    ASSERT_TRUE(eventually(patience, one_each));

    EXPECT_EQ(run(scene, {"pause", scene.topic(), "--reason", "the-index-is-rebuilt"}), 0);
    EXPECT_TRUE(eventually(patience, [&] {
        return one.status().paused.size() == 1 && two.status().paused.size() == 1;
    }));
    EXPECT_THAT(one.status().paused[0].second, HasSubstr("the-index-is-rebuilt"));
    const CapturedLog log;
    scene.send(300);
    // Longer than a session's time-out: the poll continues.
    EXPECT_TRUE(stays(3s, [&] {
        return scene.applied() == 200 && one.status().partitions == 1 &&
               two.status().partitions == 1 && one.status().halted.empty();
    }));
    EXPECT_EQ(log.text().find("partition.revoked"), std::string::npos);

    EXPECT_EQ(run(scene, {"resume", scene.topic()}), 0);
    scene.expect_all_once();
    EXPECT_TRUE(one.status().paused.empty());
    EXPECT_EQ(run(scene, {"resume", scene.topic()}), 3) << "it was not paused any more";
}

TEST(Pause, LeavesOtherTopicsAlone) {
    Scene scene;
    WorkerOptions options = scene.options();
    const std::string other = scene.add_other_topic(options);
    Worker& worker = scene.start(std::move(options));
    // Until the worker has made its topic known, there is nothing to pause.
    EXPECT_TRUE(eventually(patience, [&] { return run(scene, {"pause", scene.topic()}) == 0; }));
    EXPECT_TRUE(eventually(patience, [&] { return worker.status().paused.size() == 1; }));
    scene.send(20);
    scene.kafka().produce(other, scene.make(20, 0));
    EXPECT_TRUE(eventually(
        patience, [&] { return scene.database().number("SELECT count(*) FROM others") == 20; }));
    EXPECT_EQ(scene.applied(), 0);
}

TEST(Pause, AWorkerThatStartsMeanwhileReadsNothing) {
    Scene scene;
    {
        Connection connection(scene.schema().worker());
        register_ledger(connection, scene.options().topics[0].ledger, scene.group(), scene.topic());
    }
    EXPECT_EQ(run(scene, {"pause", scene.topic()}), 0);
    scene.send(20);
    Worker& worker = scene.start();
    EXPECT_TRUE(eventually(patience, [&] { return worker.status().paused.size() == 1; }));
    EXPECT_TRUE(stays(some_looks, [&] { return scene.applied() == 0; }));
    EXPECT_EQ(scene.database().number("SELECT count(*) FROM fences"), 0);
    EXPECT_EQ(run(scene, {"resume", scene.topic()}), 0);
    scene.expect_all_once();
}

// It took the topic for one that is not paused until its next check.
TEST(Pause, AWorkerWhoseFirstCheckFailsReadsNothingBeforeAnotherOne) {
    Scene scene;
    WorkerOptions options = scene.options();
    options.postgres.lock_timeout = 100ms;
    {
        Connection connection(scene.schema().worker());
        register_ledger(connection, options.topics[0].ledger, scene.group(), scene.topic());
    }
    EXPECT_EQ(run(scene, {"pause", scene.topic()}), 0);
    scene.send(20);
    scene.database().execute("BEGIN; LOCK TABLE topic_pauses");
    Worker& worker = scene.start(std::move(options));
    EXPECT_TRUE(eventually(patience, [&] { return worker.status().partitions == 1; }));
    EXPECT_TRUE(stays(1s, [&] { return scene.applied() == 0; }));
    EXPECT_EQ(worker.status().reading, 0U);
    scene.database().execute("COMMIT");
    EXPECT_TRUE(eventually(patience, [&] { return worker.status().paused.size() == 1; }));
    EXPECT_EQ(scene.applied(), 0);
    EXPECT_EQ(run(scene, {"resume", scene.topic()}), 0);
    scene.expect_all_once();
}

// A privilege that is missing for the pauses alone stops no topic.
TEST(Pause, AWorkerThatMayNotReadThePausesSaysSoAndAppliesItsMessages) {
    Scene scene;
    scene.database().execute(std::string("REVOKE SELECT ON topic_pauses FROM ") +
                             support::worker_role);
    const CapturedLog log;
    Worker& worker = scene.start();
    scene.send(50);
    scene.expect_all_once();
    EXPECT_TRUE(log.says("pauses.unreadable"));
    EXPECT_THAT(log.text(), HasSubstr("topic_pauses"));
    EXPECT_TRUE(worker.status().halted.empty());
}

// The batch that a lock holds up when the pause comes lands; what is queued after it does not.
TEST(Pause, TheBatchInFlightEnds) {
    Scene scene;
    WorkerOptions options = scene.options();
    options.batch.messages = 50;
    Worker& worker = scene.start(std::move(options));
    scene.send(10);
    ASSERT_TRUE(scene.all_applied());
    scene.database().execute("BEGIN; LOCK TABLE effects");
    scene.send(500);
    support::Database looker(scene.schema().server().dsn);
    ASSERT_TRUE(eventually(patience, [&] {
        return looker.number(
                   "SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation "
                   "WHERE NOT l.granted AND c.relnamespace = '" +
                   scene.schema().name() + "'::regnamespace") > 0;
    }));
    EXPECT_EQ(run(scene, {"pause", scene.topic()}), 0);
    EXPECT_TRUE(stays(some_looks, [&] { return worker.status().paused.empty(); }));
    scene.database().execute("COMMIT");
    EXPECT_TRUE(eventually(patience, [&] { return worker.status().paused.size() == 1; }));
    const std::int64_t landed = scene.applied();
    EXPECT_GT(landed, 10);
    EXPECT_LT(landed, 510);
    EXPECT_EQ(scene.next_offset(0), landed);
    EXPECT_EQ(run(scene, {"resume", scene.topic()}), 0);
    scene.expect_all_once();
}

}  // namespace
}  // namespace onceward::kafka_tests
