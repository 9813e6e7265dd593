#include "cli/produce/production.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "lab/kafka/mock_cluster.h"
#include "tests/support/kafka.h"

namespace onceward {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ProductionTest : public testing::Test {
  protected:
    ProductionTest() {
        cluster_.create_topic("topic", 4);
        options_.producer.bootstrap_servers = cluster_.bootstrap_servers();
        options_.topic = "topic";
        options_.report = [this](const std::string& reason) { reports_.push_back(reason); };
    }

    ProductionTotals run(const std::string& text) {
        std::istringstream input(text);
        return produce(input, options_);
    }
    static std::string lines(int count) {
        std::string text;
        for (int id = 1; id <= count; ++id) text += "{\"id\":" + std::to_string(id) + "}\n";
        return text;
    }
    std::vector<support::ReadMessage> read() {
        return support::Kafka(cluster_.bootstrap_servers()).read_all("topic", 4);
    }
    static std::string key_of(const support::ReadMessage& message) {
        EXPECT_EQ(message.headers.size(), 1U);
        return message.headers.at(0).second.value_or("");
    }

    MockCluster cluster_;
    ProductionOptions options_;
    std::vector<std::string> reports_;
};

TEST_F(ProductionTest, EachRecordGetsAUuidOfItsOwn) {
    const ProductionTotals totals = run(lines(200));
    EXPECT_EQ(totals.records, 200);
    EXPECT_EQ(totals.unique_keys, 200);
    EXPECT_EQ(totals.failed, 0);
    std::set<std::string> keys;
    for (const auto& message : read()) {
        EXPECT_EQ(message.headers.at(0).first, "Idempotency-Key");
        EXPECT_THAT(key_of(message), testing::ContainsRegex("^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-"
                                                            "[89ab][0-9a-f]{3}-[0-9a-f]{12}$"));
        keys.insert(key_of(message));
    }
    EXPECT_EQ(keys.size(), 200U);
}

TEST_F(ProductionTest, TheUsersKeyIsKept) {
    options_.key_field = "id";
    options_.key_header = "X-Key";
    options_.record_key_field = "/who";
    const ProductionTotals totals = run("{\"id\":\"a\",\"who\":\"ada\"}\n{\"id\":\"a\"}\n");
    EXPECT_EQ(totals.records, 2);
    EXPECT_EQ(totals.unique_keys, 1);
    std::multiset<std::string> record_keys;
    for (const auto& message : read()) {
        EXPECT_EQ(message.headers.at(0).first, "X-Key");
        EXPECT_EQ(key_of(message), "a");
        record_keys.insert(message.key.value_or("(none)"));
    }
    EXPECT_THAT(record_keys, ElementsAre("(none)", "ada"));
}

TEST_F(ProductionTest, RepeatsCarryTheSameKeyIntoAnotherPartition) {
    options_.repeat_share = 1;
    const ProductionTotals totals = run(lines(300));
    EXPECT_EQ(totals.records, 300);
    EXPECT_EQ(totals.unique_keys, 300);
    EXPECT_EQ(totals.repeats, 300);
    std::map<std::string, std::set<int>> partitions;
    std::map<std::string, std::set<std::string>> payloads;
    const auto messages = read();
    EXPECT_EQ(messages.size(), 600U);
    for (const auto& message : messages) {
        partitions[key_of(message)].insert(message.partition);
        payloads[key_of(message)].insert(message.payload.value());
    }
    EXPECT_EQ(partitions.size(), 300U);
    for (const auto& [key, where] : partitions) EXPECT_EQ(where.size(), 2U) << key;
    for (const auto& [key, what] : payloads) EXPECT_EQ(what.size(), 1U) << key;
}

TEST_F(ProductionTest, AShareOfTheRecordsIsRepeated) {
    options_.repeat_share = 0.25;
    const ProductionTotals totals = run(lines(4'000));
    // Ten standard deviations to either side.
    EXPECT_NEAR(static_cast<double>(totals.repeats), 1'000, 275);
}

// Else each further record would wait for its own time-out.
TEST_F(ProductionTest, ReadingStopsOnceNoBrokerTookARecordInTime) {
    options_.rate = 100;
    options_.producer.delivery_timeout = std::chrono::milliseconds{500};
    int asked = 0;
    options_.stopped = [&] {
        if (++asked == 20) cluster_.set_broker_down(1);
        return false;
    };
    const ProductionTotals totals = run(lines(1'000'000));
    EXPECT_TRUE(totals.gave_up);
    EXPECT_LT(totals.records, 10'000);
    EXPECT_GT(totals.failed, 0);
    EXPECT_NE(totals.first_failure, "");
}

TEST_F(ProductionTest, ReadingStopsAtABadLine) {
    const ProductionTotals totals = run("{\"id\":1}\nnonsense\n{\"id\":3}\n");
    EXPECT_EQ(totals.records, 1);
    EXPECT_EQ(totals.bad_lines, 1);
    EXPECT_THAT(reports_, ElementsAre(HasSubstr("line 2: ")));
    EXPECT_EQ(read().size(), 1U);
}

TEST_F(ProductionTest, BadLinesCanBeSkipped) {
    options_.skip_bad_lines = true;
    options_.key_field = "id";
    const ProductionTotals totals = run("{\"id\":1}\n{}\n{\"id\":\"\"}\n{\"id\":4}\n");
    EXPECT_EQ(totals.records, 2);
    EXPECT_THAT(reports_, ElementsAre(HasSubstr("line 2: there is no id"), HasSubstr("line 3: ")));
}

TEST_F(ProductionTest, CsvBecomesJson) {
    options_.csv = true;
    run("id,name\n1,\"a,b\"\n");
    ASSERT_EQ(read().size(), 1U);
    EXPECT_EQ(read()[0].payload, R"({"id":"1","name":"a,b"})");
}

TEST_F(ProductionTest, CountEndsTheRun) {
    options_.count = 5;
    EXPECT_EQ(run(lines(50)).records, 5);
    EXPECT_EQ(read().size(), 5U);
}

TEST_F(ProductionTest, RateHoldsBack) {
    options_.rate = 100;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(run(lines(31)).records, 31);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds{300});
}

}  // namespace
}  // namespace onceward
