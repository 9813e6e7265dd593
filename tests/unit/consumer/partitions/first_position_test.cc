#include "consumer/partitions/first_position.h"

#include <gtest/gtest.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;
using StartKind = StartPosition::Kind;

StartPosition starting(StartKind kind) {
    StartPosition start;
    start.kind = kind;
    return start;
}

// A log from 100 to 900 in which 555 is the first offset at any time.
class FirstPositionTest : public testing::Test {
  protected:
    std::int64_t begin(const StartPosition& start, bool topic_known = false) {
        const LogQuestions questions{[this] { return committed_; },
                                     [] { return LogRange{Offset{100}, Offset{900}}; },
                                     [](std::chrono::milliseconds) { return Offset{555}; }};
        return first_position(start, topic_known, questions).offset.raw();
    }
    std::optional<GroupOffset> committed_;
};

TEST_F(FirstPositionTest, IsWhatTheTopicSays) {
    EXPECT_EQ(begin(starting(StartKind::earliest)), 100);
    EXPECT_EQ(begin(starting(StartKind::latest)), 900);
    EXPECT_EQ(begin({StartKind::timestamp, 5ms}), 555);
}

TEST_F(FirstPositionTest, AdoptsAnotherConsumersCommittedOffset) {
    committed_ = GroupOffset{Offset{321}, LeaderEpoch{4}, "spark"};
    EXPECT_EQ(begin({}), 321);
    EXPECT_EQ(begin(starting(StartKind::latest)), 900) << "asked for something else";
}

TEST_F(FirstPositionTest, FallsBackWhereTheGroupHasNone) {
    EXPECT_EQ(begin({StartKind::committed, 0ms, StartPosition::Fallback::earliest}), 100);
    EXPECT_EQ(begin({StartKind::committed, 0ms, StartPosition::Fallback::latest}), 900);
}

TEST_F(FirstPositionTest, OurMarkWithoutARowIsALostRowWhateverTheTopicSays) {
    committed_ = GroupOffset{Offset{321}, LeaderEpoch{-1}, "onceward:some-uuid"};
    for (const StartKind kind :
         {StartKind::committed, StartKind::earliest, StartKind::latest, StartKind::timestamp}) {
        EXPECT_THROW(begin(starting(kind)), FenceLost);
    }
    EXPECT_THROW(begin({}, true), FenceLost);
}

TEST_F(FirstPositionTest, APartitionAddedToAKnownTopicStartsAtItsBeginning) {
    EXPECT_EQ(begin(starting(StartKind::latest), true), 100);
    EXPECT_EQ(begin({StartKind::timestamp, 5ms}, true), 100);
}

TEST_F(FirstPositionTest, AnErrorIsNotNone) {
    const LogQuestions questions{
        []() -> std::optional<GroupOffset> { throw KafkaError(1, "no answer"); },
        []() -> LogRange { return {Offset{100}, Offset{900}}; },
        [](std::chrono::milliseconds) { return Offset{0}; }};
    for (const bool known : {false, true}) {
        EXPECT_THROW(first_position(starting(StartKind::earliest), known, questions), KafkaError);
    }
}

}  // namespace
}  // namespace onceward
