#include <gtest/gtest.h>

#include "dedup/claims/log/log_window.h"
#include "dedup/retention/ledger_view.h"

namespace onceward {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

LedgerOptions options() {
    LedgerOptions options;
    options.rotate_after = minutes(10);
    options.rotate_claims = 1'200;
    return options;
}

TEST(RetentionRules, AGenerationIsSealedAtItsAgeAndNotBefore) {
    EXPECT_EQ(rotation_due({1, minutes(10) - milliseconds(1), 1}, options()), Rotation::keep);
    EXPECT_EQ(rotation_due({1, minutes(10), 1}, options()), Rotation::by_age);
}

TEST(RetentionRules, AGenerationIsSealedAtItsSizeAndNotBefore) {
    EXPECT_EQ(rotation_due({1, minutes(0), 1'199}, options()), Rotation::keep);
    EXPECT_EQ(rotation_due({1, minutes(0), 1'200}, options()), Rotation::by_size);
}

TEST(RetentionRules, AnEmptyGenerationIsKeptAtAnyAge) {
    EXPECT_EQ(rotation_due({1, std::chrono::hours(1000), 0}, options()), Rotation::keep);
}

TEST(RetentionRules, AGenerationIsLookedAtWhenItShouldHaveItsSize) {
    EXPECT_EQ(full_in({1, minutes(1), 300}, options()), minutes(3));
    EXPECT_EQ(full_in({1, minutes(1), 1'200}, options()), minutes(0));
    EXPECT_EQ(full_in({1, minutes(1), 5'000}, options()), minutes(0));
    EXPECT_EQ(full_in({1, minutes(1), 0}, options()), std::chrono::hours(24));
    EXPECT_EQ(full_in({1, std::chrono::hours(1000), 1}, options()), std::chrono::hours(24));
    EXPECT_EQ(full_in({1, milliseconds(0), 300}, options()), milliseconds(3));
}

TEST(RetentionRules, AGenerationThatTakesAllOfItsMemoryIsSealedUnlessItIsSmall) {
    LedgerOptions large = options();
    large.rotate_claims = 50'000'000;
    EXPECT_EQ(rotation_due({1, minutes(1), 200'000, 0.99}, large), Rotation::keep);
    EXPECT_EQ(rotation_due({1, minutes(1), 200'000, 1}, large), Rotation::by_memory);
    EXPECT_EQ(rotation_due({1, minutes(1), fewest_claims_by_memory - 1, 9}, large), Rotation::keep);
    EXPECT_EQ(rotation_due({1, minutes(1), fewest_claims_by_memory, 9}, large),
              Rotation::by_memory);
    EXPECT_EQ(rotation_due({1, minutes(1), 1'200, 9}, options()), Rotation::by_size);
}

TEST(RetentionRules, AGenerationIsLookedAtWhenItsMemoryShouldBeUsedUp) {
    LedgerOptions large = options();
    large.rotate_claims = 50'000'000;
    EXPECT_EQ(full_in({1, minutes(1), 200'000, 0.25}, large), minutes(3));
    EXPECT_EQ(full_in({1, minutes(1), 200'000, 2}, large), minutes(0));
    EXPECT_EQ(full_in({1, minutes(1), 25'000, 2}, large), minutes(3));
    EXPECT_EQ(full_in({1, minutes(1), 300, 0.01}, options()), minutes(3));
}

TEST(RetentionRules, HoursBeginWithTheirFirstMinuteAndEndBeforeTheirLast) {
    const DailyHours night{minutes(60), minutes(300)};
    EXPECT_FALSE(within(night, minutes(59)));
    EXPECT_TRUE(within(night, minutes(60)));
    EXPECT_TRUE(within(night, minutes(299)));
    EXPECT_FALSE(within(night, minutes(300)));
}

TEST(RetentionRules, HoursMayPassMidnight) {
    const DailyHours night{minutes(1320), minutes(240)};
    EXPECT_FALSE(within(night, minutes(1319)));
    EXPECT_TRUE(within(night, minutes(1320)));
    EXPECT_TRUE(within(night, minutes(0)));
    EXPECT_FALSE(within(night, minutes(240)));
    EXPECT_TRUE(within({minutes(0), minutes(1440)}, minutes(1439)));
}

}  // namespace
}  // namespace onceward
