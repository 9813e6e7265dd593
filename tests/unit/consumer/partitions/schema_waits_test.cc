#include "consumer/partitions/schema_waits.h"

#include <gtest/gtest.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;
using State = SchemaAnswer::State;

class SchemaWaitsTest : public testing::Test {
  protected:
    static AwaitedRecord record(int partition, int schema) {
        return {{"orders", Partition{partition}},
                Offset{42},
                LeaderEpoch{1},
                {{schema, ""}, "it is being fetched"}};
    }
    SchemaWaits::News look() {
        return waits.look([this](const AwaitedRecord&) { return answer; }, now);
    }

    SchemaWaits::Clock::time_point now{1000s};
    SchemaAnswer answer{.state = State::pending, .reason = "registry `main` answers 503"};
    SchemaWaits waits;
};

TEST_F(SchemaWaitsTest, ASchemaThatComesAtOnceIsNoNews) {
    waits.add(record(0, 17), now);
    EXPECT_TRUE(look().waiting.empty());
    answer = {.state = State::known};
    const SchemaWaits::News news = look();
    ASSERT_EQ(news.ready.size(), 1U);
    EXPECT_EQ(news.ready[0].position, Offset{42});
    EXPECT_TRUE(news.waiting.empty());
    EXPECT_FALSE(waits.told(news.ready[0].partition));
}

TEST_F(SchemaWaitsTest, AWaitIsToldOnceForEachReason) {
    waits.add(record(0, 17), now);
    now += 1s;
    const SchemaWaits::News news = look();
    ASSERT_EQ(news.waiting.size(), 1U);
    EXPECT_EQ(describe(news.waiting[0]),
              "it waits for schema 17, of the message at offset 42: registry `main` answers 503");
    for (int i = 0; i < 100; ++i) {
        now += 1s;
        EXPECT_TRUE(look().waiting.empty());
    }
    answer.reason = "registry `main` cannot be reached: connection refused";
    EXPECT_EQ(look().waiting.size(), 1U);
    EXPECT_TRUE(waits.told({"orders", Partition{0}}));
}

TEST_F(SchemaWaitsTest, AVerdictEndsTheWaitWhicheverItIs) {
    for (const State state : {State::known, State::unknown, State::refused}) {
        waits.add(record(0, 17), now);
        answer.state = state;
        EXPECT_EQ(look().ready.size(), 1U);
    }
}

TEST_F(SchemaWaitsTest, AReadyPartitionStaysUntilItIsReadAgain) {
    waits.add(record(0, 17), now);
    waits.add(record(1, 18), now);
    answer.state = State::known;
    EXPECT_EQ(look().ready.size(), 2U);
    waits.forget({"orders", Partition{0}});
    EXPECT_EQ(look().ready.size(), 1U);
    waits.forget({"orders", Partition{1}});
    EXPECT_TRUE(waits.empty());
}

}  // namespace
}  // namespace onceward
