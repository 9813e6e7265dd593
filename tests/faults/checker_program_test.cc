// The checker as a program, on a real broker, a real server and a worker of the release program.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/faults/checker/load_kafka.h"
#include "tests/faults/checker/samplers.h"
#include "tests/faults/checker/scene.h"
#include "tests/faults/crash_scene.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::faults {
namespace {

using std::chrono::milliseconds;
using ::testing::IsEmpty;

struct Answer {
    int status = -1;
    nlohmann::json report;
};

Answer run_checker(const std::vector<std::string>& arguments, const std::filesystem::path& output) {
    ChildOptions options;
    options.command = {ONCEWARD_CHECKER_EXECUTABLE};
    options.command.insert(options.command.end(), arguments.begin(), arguments.end());
    options.output = output;
    std::filesystem::remove(output);  // a child appends
    ChildProcess program(options);
    const std::optional<int> status = program.wait(patience);
    Answer answer;
    if (status && WIFEXITED(*status)) answer.status = WEXITSTATUS(*status);
    std::ifstream file(output);
    answer.report = nlohmann::json::parse(file, nullptr, false);
    return answer;
}

bool names(const nlohmann::json& report, const std::string& invariant) {
    for (const auto& violation : report["violations"]) {
        if (violation["invariant"] == invariant) return true;
    }
    return false;
}

TEST(CheckerProgram, JudgesARunThatIsCleanAndThenBroken) {
    CrashScene scene(support::seed());
    scene.send(2000);
    const std::filesystem::path file = scene.write_checker_scene();
    const std::filesystem::path output = file.parent_path() / "checker.out";
    ChildProcess worker = scene.start_worker();
    const checker::Scene sampled = checker::read_scene(file);
    checker::Sampler sampler(sampled);
    sampler.watch(worker.pid());
    std::atomic<bool> stop{false};
    checker::SampleReport samples;
    std::thread sampling([&] { samples = sampler.run(stop); });
    EXPECT_TRUE(scene.drained(patience)) << scene.last_log();
    scene.stop_worker(worker);
    stop = true;
    sampling.join();
    EXPECT_GT(samples.offset_samples, 0);
    EXPECT_GT(samples.owner_samples, 0);
    EXPECT_GT(samples.resource_samples, 0);
    EXPECT_THAT(samples.violations, IsEmpty());

    const Answer clean = run_checker({file.string()}, output);
    EXPECT_EQ(clean.status, 0) << clean.report;
    EXPECT_EQ(clean.report["messages"], 2000);
    EXPECT_EQ(clean.report["applied"], scene.rows());
    EXPECT_THAT(clean.report["unchecked"], IsEmpty());
    EXPECT_EQ(run_checker({"--sample", file.string(), "--seconds", "1"}, output).status, 0);

    scene.database().execute("DELETE FROM payments WHERE landed = 1");
    const Answer lost = run_checker({file.string()}, output);
    EXPECT_EQ(lost.status, 1);
    EXPECT_EQ(lost.report["lost"], 1);
    EXPECT_TRUE(names(lost.report, "I1"));
    EXPECT_TRUE(names(lost.report, "I6"));

    // Another session moves a fence under its owner's name, as a worker without the check would.
    scene.database().execute("UPDATE fences SET next_offset = next_offset - 1");
    const Answer moved = run_checker({file.string()}, output);
    EXPECT_TRUE(names(moved.report, "I5"));
    EXPECT_TRUE(names(moved.report, "I2"));
    EXPECT_TRUE(names(moved.report, "I12"));
    EXPECT_EQ(run_checker({"--sample", file.string(), "--seconds", "1"}, output).status, 1);
}

TEST(CheckerProgram, SaysThatItCouldNotCheck) {
    CrashScene scene(support::seed());
    const std::filesystem::path file = scene.write_checker_scene();
    const std::filesystem::path output = file.parent_path() / "checker.out";
    EXPECT_EQ(run_checker({(file.parent_path() / "none.json").string()}, output).status, 2);
    EXPECT_EQ(run_checker({"--unknown"}, output).status, 2);
    scene.database().execute("ALTER TABLE payments RENAME COLUMN key TO other");
    EXPECT_EQ(run_checker({file.string()}, output).status, 2);
}

TEST(CheckerLog, HasAbortedMessagesAndControlRecordsAsGaps) {
    const std::string topic = support::unique_name("log");
    const std::string group = support::unique_name("group");
    support::Kafka& kafka = support::kafka();
    kafka.create_topic(topic, 2);
    const auto message = [](const std::string& id, const std::string& payload) {
        return support::ProducedMessage{
            0, "key", payload, {{"first", std::nullopt}, {"message-id", id}}, 0};
    };
    kafka.produce(topic, {message("7", "a"), message("8", std::string("b\0c", 3))});
    kafka.produce_in_transaction(topic, {message("9", "c")}, support::Kafka::Transaction::abort);
    kafka.produce_in_transaction(topic, {message("10", "d")}, support::Kafka::Transaction::commit);
    kafka.set_committed_offset(group, topic, 0, 2);
    checker::Evidence evidence;
    evidence.topics = {{.name = topic}};
    evidence.dead_letters.push_back({.place = {0, 0, 1}});
    checker::KafkaSource source;
    source.bootstrap_servers = support::kafka_bootstrap_servers();
    source.consumer_group = group;
    checker::load_kafka(source, evidence);
    ASSERT_EQ(evidence.log.size(), 2u);
    const checker::PartitionLog& log = evidence.log[0];
    EXPECT_EQ(log.begin, 0);
    EXPECT_EQ(log.end, 6);  // two messages, an aborted one, a committed one, two control records
    ASSERT_EQ(log.records.size(), 3u);
    EXPECT_EQ(log.records[1].id, 8u);
    EXPECT_EQ(log.records[2].id, 10u);
    EXPECT_EQ(log.records[2].offset, 4);
    ASSERT_EQ(evidence.contents.size(), 1u);
    const checker::Content& content = evidence.contents.at({0, 0, 1});
    EXPECT_EQ(content.payload, std::string("b\0c", 3));
    EXPECT_EQ(content.key, "key");
    EXPECT_EQ(content.headers,
              (std::vector<checker::Header>{{"first", std::nullopt}, {"message-id", "8"}}));
    ASSERT_EQ(evidence.committed.size(), 1u);
    EXPECT_EQ(evidence.committed[0].offset, 2);
}

}  // namespace
}  // namespace onceward::faults
