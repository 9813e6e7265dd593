// A batch that is damaged on the broker's disk: nothing after it is applied before an operator has
// passed it by name, and then everything is, once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "consumer/kafka/kafka_source.h"
#include "lab/embedded/child_process.h"
#include "tests/integration/kafka/own_broker.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"
#include "tests/support/log_segment.h"
#include "tests/support/unique.h"

namespace onceward::kafka_tests {
namespace {

using support::BatchOnDisk;
using support::eventually;
using testing::HasSubstr;

using Break = void (*)(const std::filesystem::path&, const BatchOnDisk&);

// Two partitions. In the first one a good part, one damaged batch and, where asked for, a good part
// after it.
class DamagedScene {
  public:
    enum class Behind : std::uint8_t { nothing, more };

    explicit DamagedScene(Break damage, Behind behind = Behind::more)
        : scene_({.partitions = 2,
                  .kafka = &own_kafka(),
                  .bootstrap_servers = own_broker().bootstrap_servers()}) {
        send(20);
        own_kafka().produce(scene_.topic(), lost_ = scene_.make(10, 0));
        if (behind == Behind::more) send(30);
        const auto other = scene_.make(15, 1);
        own_kafka().produce(scene_.topic(), other);
        scene_.count(other);
        const auto segment = own_broker().segment(scene_.topic(), 0);
        batch_ = support::batch_at(segment, 20);
        damage(segment, batch_);
    }

    Scene& scene() { return scene_; }
    const BatchOnDisk& batch() const { return batch_; }
    void send(int messages) {
        const auto made = scene_.make(messages, 0);
        own_kafka().produce(scene_.topic(), made);
        scene_.count(made);
    }
    // The records after the damaged batch, if the producer split the ten into batches.
    void count_what_is_whole() {
        lost_.erase(lost_.begin(), lost_.begin() + (batch_.end - batch_.begin));
        scene_.count(lost_);
    }
    void expect_halted(Worker& worker) {
        EXPECT_THAT(Scene::halted(worker), HasSubstr("offsets skip"));
        const HaltedPartition halted = worker.status().halted.at(0);
        EXPECT_EQ(halted.halt.reason, HaltReason::unreadable);
        EXPECT_EQ(halted.halt.at, Offset{20});
        EXPECT_EQ(halted.partition.partition, Partition{0});
        // What is before it, and the other partition.
        EXPECT_TRUE(eventually(patience, [&] { return scene_.applied() == 35; }));
        EXPECT_TRUE(stays(1500ms, [&] { return scene_.applied() == 35; }));
        EXPECT_EQ(scene_.next_offset(0), 20);
        EXPECT_EQ(skipped(), "");
    }
    std::string skipped() {
        std::string text;
        for (const support::Row& row : scene_.database().execute(
                 "SELECT concat_ws(' ', partition, begin_offset, end_offset, reason) FROM "
                 "skipped_ranges")) {
            text += *row[0] + ";";
        }
        return text;
    }
    std::string expected_skip(const std::string& reason) const {
        return "0 20 " + std::to_string(batch_.end) + " " + reason + ";";
    }
    // `onceward offsets ...` of the damaged partition; its output after the exit code.
    std::string offsets(std::vector<std::string> arguments) {
        const auto folder = std::filesystem::temp_directory_path() / support::unique_name("skip");
        std::filesystem::create_directories(folder);
        std::ofstream(folder / "onceward.yaml")
            << "group: " << scene_.group() << "\nkafka: {bootstrap_servers: '"
            << own_broker().bootstrap_servers() << "'}\npostgres: {dsn: '"
            << scene_.schema().worker().dsn.reveal() << "', schema: " << scene_.schema().name()
            << "}\ntopics:\n  - name: " << scene_.topic()
            << "\n    key: {preset: idempotency-key}\n    sink: {table: effects, columns: {id: "
               "/id}}\n";
        ChildOptions options;
        options.command = {ONCEWARD_EXECUTABLE, "offsets"};
        options.command.insert(options.command.end(), arguments.begin(), arguments.end());
        for (const std::string& common :
             {std::string("-c"), (folder / "onceward.yaml").string(), std::string("--topic"),
              scene_.topic(), std::string("--partition"), std::string("0")}) {
            options.command.push_back(common);
        }
        options.output = folder / "output";
        ChildProcess process(options);
        const auto status = process.wait(patience);
        std::ostringstream text;
        text << (status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1) << " "
             << std::ifstream(folder / "output").rdbuf();
        std::filesystem::remove_all(folder);
        return text.str();
    }

  private:
    Scene scene_;
    std::vector<support::ProducedMessage> lost_;
    BatchOnDisk batch_;
};

class DamagedBatch : public testing::TestWithParam<std::pair<std::string, Break>> {};

// Without `position.open = false` in KafkaSource's stop_reading() the fence jumps over the batch
// whose checksum is broken, and nobody is told.
TEST_P(DamagedBatch, HaltsItsPartitionUntilItIsSkippedOnPurpose) {
    DamagedScene damaged(GetParam().second);
    Scene& scene = damaged.scene();
    const CapturedLog log;
    Worker& worker = scene.start();
    damaged.expect_halted(worker);
    EXPECT_THAT(log.text(), HasSubstr("partition.unreadable topic=\"" + scene.topic() +
                                      "\" partition=0 offset=20"));
    EXPECT_THAT(log.text(), HasSubstr("reason=\"unreadable\" offset=20"));

    EXPECT_THAT(damaged.offsets({"skip", "--offset", "19", "--reason", "x", "--yes"}),
                HasSubstr("is at 20, not at 19"));
    const std::string plan = damaged.offsets({"skip", "--offset", "20", "--reason", "x"});
    EXPECT_THAT(plan, HasSubstr("0 would skip"));
    EXPECT_THAT(plan, HasSubstr("offsets 20 to " + std::to_string(damaged.batch().end - 1)));
    EXPECT_EQ(damaged.skipped(), "");
    EXPECT_EQ(scene.next_offset(0), 20);

    damaged.count_what_is_whole();
    EXPECT_THAT(damaged.offsets({"skip", "--offset", "20", "--reason", "disk 3", "--yes"}),
                HasSubstr("0 skipped"));
    scene.expect_all_once();
    EXPECT_EQ(damaged.skipped(), damaged.expected_skip("disk 3"));
    EXPECT_TRUE(eventually(patience, [&] { return worker.status().halted.empty(); }));
    damaged.send(10);
    scene.expect_all_once();
}

TEST_P(DamagedBatch, AtTheEndOfTheLogHaltsToo) {
    DamagedScene damaged(GetParam().second, DamagedScene::Behind::nothing);
    Scene& scene = damaged.scene();
    Worker& worker = scene.start();
    damaged.expect_halted(worker);
    damaged.count_what_is_whole();
    EXPECT_THAT(damaged.offsets({"skip", "--offset", "20", "--reason", "disk 3", "--yes"}),
                HasSubstr("0 skipped"));
    EXPECT_EQ(damaged.skipped(), damaged.expected_skip("disk 3"));
    // Later records are read.
    damaged.send(10);
    scene.expect_all_once();
}

TEST_P(DamagedBatch, IsTriedAgainWhenTheOperatorSaysSo) {
    DamagedScene damaged(GetParam().second);
    Scene& scene = damaged.scene();
    Worker& worker = scene.start();
    damaged.expect_halted(worker);
    const CapturedLog log;
    EXPECT_THAT(damaged.offsets({"retry"}), HasSubstr("0 " + scene.topic()));
    EXPECT_TRUE(log.says("partition.resumed"));
    EXPECT_TRUE(log.says("partition.halted"));
    damaged.expect_halted(worker);
}

// What the source tells of partition 0.
struct Told final : SourceListener {
    bool held = false;
    int out_of_range_times = 0;
    std::vector<Offset> unreadable_at;
    void assigned(const std::vector<TopicPartition>&) override { held = true; }
    void revoked(const std::vector<TopicPartition>&, bool) override { held = false; }
    void out_of_range(const TopicPartition&) override { ++out_of_range_times; }
    void unreadable(const UnreadableRecords& records) override {
        unreadable_at.push_back(records.position);
    }
    void awaits_schema(const AwaitedRecord&) override {}
    void partition_failed(const TopicPartition&, int, const std::string& reason) override {
        ADD_FAILURE() << reason;
    }
};

// After a broken checksum librdkafka takes the batch's own bytes for an offset and asks for that,
// which is out of range. Where restart() begins at the batch itself this continues for ever: each
// seek comes too late.
TEST(OutOfRange, InFrontOfADamagedBatchTheReadingComesBackToIt) {
    DamagedScene damaged(&support::break_checksum);
    Scene& scene = damaged.scene();
    const WorkerOptions options = scene.options();
    Told told;
    const std::unique_ptr<Sink> sink = options.topics[0].sink();
    MessageBuilder intake({scene.group(), scene.topic(), {}, {}}, *sink);
    KafkaSource source(options.kafka, 0, {scene.topic()}, told);
    source.join();
    const TopicPartition partition{scene.topic(), Partition{0}};
    bool reading = false;
    const auto read_from = [&](Offset begin, const std::function<bool()>& until) {
        reading = false;
        return eventually(patience, [&] {
            source.serve();
            if (told.held && !reading) reading = source.begin(partition, begin, LeaderEpoch{-1});
            if (reading) source.read(0, 100, intake);
            if (!until()) source.wait(100ms);  // as a reader with nothing to do
            return until();
        });
    };
    ASSERT_TRUE(read_from(Offset{1'000'000}, [&] { return told.out_of_range_times == 1; }));
    EXPECT_TRUE(read_from(Offset{20}, [&] { return told.unreadable_at.size() == 1; }));
    EXPECT_THAT(told.unreadable_at, testing::ElementsAre(Offset{20}));
    source.close();
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, DamagedBatch,
    testing::Values(std::pair{std::string("checksum"), &support::break_checksum},
                    std::pair{std::string("compression"), &support::break_compression}),
    [](const auto& info) { return info.param.first; });

}  // namespace
}  // namespace onceward::kafka_tests
