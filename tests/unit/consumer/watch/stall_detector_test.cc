#include "consumer/watch/lag_observer.h"

#include <gmock/gmock.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const TopicPartition orders{"orders", Partition{3}};
constexpr milliseconds wall{1'700'000'000'000};

class StallDetectorTest : public testing::Test {
  protected:
    StallDetectorTest() {
        session_.connected = true;
        sight_.partition = orders;
        sight_.phase = PartitionPhase::reading;
        sight_.fence = Offset{10};
        sight_.position = Offset{10};
        sight_.end = Offset{10};
    }
    StallDetector::News look_after(milliseconds passed) {
        now_ += passed;
        since_start_ += passed;
        return watch_.look(now_, wall + since_start_, {&sight_, 1}, session_);
    }
    const PartitionStatus& status() const { return watch_.statuses().at(0); }

    StallDetector watch_{45s};
    PartitionSight sight_;
    SessionView session_;
    StallDetector::Clock::time_point now_{};
    milliseconds since_start_{0};
};

TEST_F(StallDetectorTest, WhatIsAtTheEndNeverStalls) {
    EXPECT_THAT(look_after(0s).stalled, IsEmpty());
    EXPECT_THAT(look_after(24h).stalled, IsEmpty());
    EXPECT_EQ(status().lag, 0);
    EXPECT_EQ(status().age, 0s);
    EXPECT_EQ(status().standing, 0s);
}

TEST_F(StallDetectorTest, WhatWaitsAndDoesNotMoveStallsAtTheLimitAndNotBefore) {
    look_after(0s);
    look_after(1h);
    sight_.end = Offset{15};
    EXPECT_THAT(look_after(1s).stalled, IsEmpty());
    EXPECT_EQ(status().lag, 5);
    EXPECT_THAT(look_after(43999ms).stalled, IsEmpty());
    EXPECT_FALSE(status().stalled);
    const auto news = look_after(1001ms);
    ASSERT_THAT(news.stalled, SizeIs(1));
    EXPECT_EQ(news.stalled[0].partition, orders);
    EXPECT_EQ(news.stalled[0].lag, 5);
    EXPECT_EQ(news.stalled[0].standing, 46s);
}

TEST_F(StallDetectorTest, WhatMovesByOneMessageIsNoStall) {
    sight_.end = Offset{1000};
    look_after(0s);
    for (int i = 0; i < 100; ++i) {
        sight_.position = sight_.fence = next(*sight_.fence);
        EXPECT_THAT(look_after(44s).stalled, IsEmpty());
    }
}

TEST_F(StallDetectorTest, AStallIsToldOnceThenEveryTenMinutesAndWhenItEnds) {
    sight_.end = Offset{11};
    look_after(0s);
    EXPECT_THAT(look_after(45s).stalled, SizeIs(1));
    for (int second = 0; second < 599; ++second) EXPECT_THAT(look_after(1s).stalled, IsEmpty());
    EXPECT_TRUE(status().stalled);
    EXPECT_THAT(look_after(1s).stalled, SizeIs(1));
    sight_.fence = sight_.position = Offset{11};
    EXPECT_THAT(look_after(1s).moving, testing::ElementsAre(orders));
    EXPECT_FALSE(status().stalled);
    EXPECT_THAT(look_after(1s).moving, IsEmpty());
}

TEST_F(StallDetectorTest, TheAgeIsThatOfTheMessageThatWaitsFirst) {
    look_after(0s);
    sight_.end = Offset{12};
    sight_.on_the_way = true;
    sight_.oldest = wall - 30s;
    look_after(0s);
    EXPECT_EQ(status().age, 30s);
    // Thrown away with its session: the same message still waits.
    sight_.oldest.reset();
    sight_.on_the_way = false;
    sight_.position.reset();
    sight_.phase = PartitionPhase::wants_fence;
    look_after(5s);
    EXPECT_EQ(status().age, 35s);
}

TEST_F(StallDetectorTest, ATimestampFromTheFutureIsNoNegativeAge) {
    sight_.end = Offset{12};
    sight_.on_the_way = true;
    sight_.oldest = wall + 1h;
    look_after(0s);
    EXPECT_EQ(status().age, 0s);
}

TEST_F(StallDetectorTest, WithoutATimestampTheAgeIsHowLongItWasSeenWaiting) {
    look_after(0s);
    look_after(10s);
    sight_.end = Offset{12};
    look_after(1s);
    look_after(3s);
    EXPECT_EQ(status().age, 4s);
}

TEST_F(StallDetectorTest, ControlRecordsBehindTheLastMessageAreNoLag) {
    sight_.end = sight_.position = Offset{14};
    EXPECT_THAT(look_after(0s).stalled, IsEmpty());
    EXPECT_EQ(status().lag, 0);
    sight_.on_the_way = true;  // Read, and not committed.
    look_after(1s);
    EXPECT_EQ(status().lag, 4);
}

TEST_F(StallDetectorTest, AFenceThatIsNeverTakenStallsWhereTheLogHoldsSomething) {
    sight_.phase = PartitionPhase::wants_fence;
    sight_.fence.reset();
    sight_.position.reset();
    session_ = {false, "SQLSTATE 53300: too many connections", {}, {}};
    look_after(0s);
    const auto news = look_after(45s);
    ASSERT_THAT(news.stalled, SizeIs(1));
    EXPECT_EQ(news.stalled[0].lag, std::nullopt);
    EXPECT_THAT(news.stalled[0].reason, HasSubstr("53300"));
    sight_.end = Offset{0};
    EXPECT_THAT(look_after(1s).moving, SizeIs(1));
}

TEST_F(StallDetectorTest, APausedPartitionLagsAndNeverStalls) {
    look_after(0s);
    sight_.end = Offset{12};
    sight_.phase = PartitionPhase::paused;
    look_after(0s);
    EXPECT_THAT(look_after(24h).stalled, IsEmpty());
    EXPECT_EQ(status().lag, 2);
    sight_.phase = PartitionPhase::reading;
    EXPECT_THAT(look_after(44s).stalled, IsEmpty());
    EXPECT_THAT(look_after(1s).stalled, SizeIs(1));
}

TEST_F(StallDetectorTest, AnEndThatIsNotKnownIsNoStall) {
    sight_.end.reset();
    look_after(0s);
    EXPECT_THAT(look_after(1h).stalled, IsEmpty());
    EXPECT_EQ(status().lag, std::nullopt);
}

TEST_F(StallDetectorTest, APartitionThatComesBackWhereItStoodHasNotMoved) {
    sight_.end = Offset{12};
    look_after(0s);
    watch_.look(now_ += 20s, wall, {}, session_);
    EXPECT_THAT(watch_.statuses(), IsEmpty());
    sight_.fence.reset();
    sight_.position.reset();
    sight_.phase = PartitionPhase::wants_fence;
    look_after(20s);
    sight_.fence = sight_.position = Offset{10};
    sight_.phase = PartitionPhase::reading;
    EXPECT_THAT(look_after(5s).stalled, SizeIs(1));
}

TEST(BelievedReason, IsNeverTheFailureOfAnotherTopic) {
    WorkerActivity activity({"orders", "others"}, nullptr);
    activity.connected();
    PostgresError::Diagnosis diagnosis;
    diagnosis.sqlstate = "55P03";
    activity.retried("others", PostgresError(diagnosis));
    PartitionSight sight;
    sight.partition = orders;
    sight.phase = PartitionPhase::reading;
    sight.on_the_way = true;
    const SessionView session = activity.session(WorkerActivity::Clock::now());
    EXPECT_THAT(believed_reason(sight, session), HasSubstr("of other topics"));
    sight.partition.topic = "others";
    EXPECT_THAT(believed_reason(sight, session), HasSubstr("PostgreSQL refuses the batch: "));
}

TEST(BelievedReason, NamesWhatTheWorkerKnows) {
    PartitionSight sight;
    sight.phase = PartitionPhase::halted;
    sight.trouble = "a column is gone";
    SessionView session{true, "", {}, std::nullopt};
    EXPECT_EQ(believed_reason(sight, session), "the partition is halted: a column is gone");
    // Tried again, and nothing has moved yet.
    for (const auto phase :
         {PartitionPhase::wants_fence, PartitionPhase::wants_seek, PartitionPhase::reading}) {
        sight.phase = phase;
        EXPECT_EQ(believed_reason(sight, session), "the partition is halted: a column is gone");
    }
    sight.trouble.clear();
    EXPECT_THAT(believed_reason(sight, session), HasSubstr("a producer's transaction is open"));
    sight.on_the_way = true;
    EXPECT_THAT(believed_reason(sight, session), HasSubstr("for those of other topics"));
    session.transaction = 30s;
    EXPECT_EQ(believed_reason(sight, session), "a transaction has been running for 30 s");
    session.failure = "55P03";
    EXPECT_EQ(believed_reason(sight, session), "PostgreSQL refuses the batch: 55P03");
    session.connected = false;
    EXPECT_EQ(believed_reason(sight, session), "PostgreSQL cannot be reached: 55P03");
    sight.phase = PartitionPhase::wants_seek;
    EXPECT_THAT(believed_reason(sight, session), HasSubstr("seek"));
}

}  // namespace
}  // namespace onceward
