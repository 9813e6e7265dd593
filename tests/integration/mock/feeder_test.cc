#include "lab/demo/feeder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "lab/kafka/mock_cluster.h"
#include "tests/support/eventually.h"
#include "tests/support/kafka.h"

namespace onceward::demo {
namespace {

using std::chrono::milliseconds;
using support::eventually;

constexpr milliseconds patience{30'000};
// Long enough for many records to go out, were they not held back.
constexpr milliseconds a_while{500};

class FeederTest : public testing::Test {
  protected:
    FeederTest() {
        for (const Topic topic : topics) {
            cluster_.create_topic(name_of(topic), partitions_per_topic);
        }
    }
    FeederOptions options() const {
        const std::filesystem::path source = ONCEWARD_SOURCE_FOLDER;
        return {cluster_.bootstrap_servers(), (source / "schemas/payment.proto").string()};
    }
    void pass_everything(Feeder& feeder, Offset next) {
        for (const Topic topic : topics) {
            for (std::int32_t partition = 0; partition < partitions_per_topic; ++partition)
                feeder.passed({name_of(topic), Partition{partition}}, next);
        }
    }

    MockCluster cluster_;
};

TEST_F(FeederTest, EveryMessageReachesItsTopicWithItsKey) {
    Workload workload(3, 2'000);
    Feeder feeder(options(), workload);
    feeder.allow(2'000);
    ASSERT_TRUE(eventually(patience, [&] {
        feeder.check();
        return feeder.done();
    }));
    EXPECT_EQ(feeder.lag(), 2'000);

    std::map<std::string, int> counts;
    support::Kafka kafka(cluster_.bootstrap_servers());
    for (const Topic topic : topics) {
        for (const auto& message : kafka.read_all(name_of(topic), partitions_per_topic))
            ++counts[name_of(topic) + "/" + message.headers.at(0).second.value()];
    }
    ASSERT_EQ(counts.size(), workload.produced().size());
    for (const ProducedKey& key : workload.produced())
        EXPECT_EQ(counts[name_of(key.topic) + "/" + uuid_text(key.key)], key.messages);
}

TEST_F(FeederTest, NothingIsProducedBeyondWhatIsAllowed) {
    Workload workload(3, 1'000);
    Feeder feeder(options(), workload);
    feeder.allow(300);
    ASSERT_TRUE(eventually(patience, [&] { return feeder.delivered() == 300; }));
    EXPECT_FALSE(eventually(a_while, [&] { return feeder.delivered() > 300; }));
    EXPECT_FALSE(feeder.done());
    feeder.allow(1'000);
    EXPECT_TRUE(eventually(patience, [&] { return feeder.done(); }));
}

// Without the limit the cluster would trim records that nobody has read.
TEST_F(FeederTest, TheBacklogStaysBelowWhatTheClusterKeeps) {
    Workload workload(3, 200'000);
    Feeder feeder(options(), workload);
    feeder.allow(200'000);
    std::int64_t last = -1;
    ASSERT_TRUE(eventually(patience, [&] {
        const std::int64_t delivered = feeder.delivered();
        const bool stands = delivered > 0 && delivered == last;
        last = delivered;
        return stands && !eventually(a_while, [&] { return feeder.delivered() != last; });
    }));
    EXPECT_LT(last, 200'000);
    support::Kafka kafka(cluster_.bootstrap_servers());
    for (const Topic topic : topics) {
        for (int partition = 0; partition < partitions_per_topic; ++partition)
            EXPECT_EQ(kafka.offsets(name_of(topic), partition).first, 0);
    }
    pass_everything(feeder, Offset{1'000'000});
    ASSERT_TRUE(eventually(patience, [&] {
        feeder.check();
        return feeder.done();
    }));
    EXPECT_EQ(feeder.delivered(), 200'000);
}

TEST_F(FeederTest, LagIsWhatTheFencesHaveNotPassed) {
    Workload workload(3, 500);
    Feeder feeder(options(), workload);
    feeder.allow(500);
    ASSERT_TRUE(eventually(patience, [&] { return feeder.done(); }));
    pass_everything(feeder, Offset{10});
    EXPECT_EQ(feeder.lag(), 500 - 8 * 10);
    pass_everything(feeder, Offset{500});
    EXPECT_EQ(feeder.lag(), 0);
}

}  // namespace
}  // namespace onceward::demo
