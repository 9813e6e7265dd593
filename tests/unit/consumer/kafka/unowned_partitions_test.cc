#include "consumer/kafka/group_observer.h"

#include <gmock/gmock.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

const TopicPartition unowned_first{"orders", Partition{0}};
const TopicPartition unowned_second{"orders", Partition{1}};

class UnownedPartitionsTest : public testing::Test {
  protected:
    UnownedPartitionsTest() {
        sight_.settled = true;
        sight_.partitions = {{"orders", 2}};
        sight_.owned = {unowned_second};
    }
    std::vector<TopicPartition> look_after(milliseconds passed, double dice = 0) {
        now_ += passed;
        return watch_.look(now_, sight_, dice);
    }
    // How long it is until the next rejoin, with a look every second.
    milliseconds next_rejoin(double dice = 0) {
        const auto begin = now_;
        while (look_after(1s, dice).empty() && now_ - begin < 1h) {
        }
        return std::chrono::duration_cast<milliseconds>(now_ - begin);
    }

    UnownedPartitions watch_{10s};
    GroupSight sight_;
    UnownedPartitions::Clock::time_point now_{1h};
};

TEST_F(UnownedPartitionsTest, WhatNobodyOwnsInTwoLooksInARowIsWorthARejoin) {
    EXPECT_THAT(look_after(0s), IsEmpty());
    EXPECT_THAT(look_after(10s), ElementsAre(unowned_first));
}

TEST_F(UnownedPartitionsTest, WhatSomebodyOwnsIsLeftAlone) {
    sight_.owned = {unowned_first, unowned_second};
    EXPECT_THAT(look_after(0s), IsEmpty());
    EXPECT_THAT(look_after(10s), IsEmpty());
}

TEST_F(UnownedPartitionsTest, WhatIsHandedOverBetweenTwoLooksIsLeftAlone) {
    EXPECT_THAT(look_after(0s), IsEmpty());
    sight_.owned = {unowned_first};
    EXPECT_THAT(look_after(10s), IsEmpty()) << "another one, and only since this look";
}

TEST_F(UnownedPartitionsTest, ARebalanceBetweenTwoLooksBeginsAnew) {
    EXPECT_THAT(look_after(0s), IsEmpty());
    sight_.settled = false;
    EXPECT_THAT(look_after(10s), IsEmpty());
    sight_.settled = true;
    EXPECT_THAT(look_after(10s), IsEmpty());
    EXPECT_THAT(look_after(10s), ElementsAre(unowned_first));
}

TEST_F(UnownedPartitionsTest, APartitionThatWasAddedAndNeverGivenOutIsUnownedToo) {
    sight_.owned = {unowned_first, unowned_second};
    look_after(0s);
    sight_.partitions["orders"] = 3;
    EXPECT_THAT(look_after(10s), IsEmpty());
    EXPECT_THAT(look_after(10s), ElementsAre(TopicPartition{"orders", Partition{2}}));
}

TEST_F(UnownedPartitionsTest, RejoinsThatDoNotHelpComeAtGrowingPausesUpToALimit) {
    EXPECT_EQ(next_rejoin(), 2s);
    EXPECT_EQ(next_rejoin(), 10s);
    EXPECT_EQ(next_rejoin(), 20s);
    EXPECT_EQ(next_rejoin(), 40s);
    EXPECT_EQ(next_rejoin(), 80s);
    EXPECT_EQ(next_rejoin(), 160s);
    EXPECT_EQ(next_rejoin(), 160s);
}

TEST_F(UnownedPartitionsTest, TheDiceLengthenAPauseByHalfAtMost) {
    next_rejoin(1.0);
    EXPECT_EQ(next_rejoin(1.0), 15s);
}

TEST_F(UnownedPartitionsTest, WhereAllWasOwnedMeanwhileThePausesBeginAnew) {
    for (int i = 0; i < 4; ++i) next_rejoin();
    sight_.owned = {unowned_first, unowned_second};
    look_after(10min);
    sight_.owned = {unowned_second};
    EXPECT_EQ(next_rejoin(), 2s);
    EXPECT_EQ(next_rejoin(), 10s);
}

}  // namespace
}  // namespace onceward
