#include "dedup/base/expects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onceward {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ExpectsTest, AConditionThatHoldsCostsNothingMore) {
    EXPECT_NO_THROW(expects(true, "it holds"));
}

TEST(ExpectsTest, ABrokenContractNamesItsSentenceAndItsPlace) {
    try {
        expects(false, "the claims are sorted by digest");
        FAIL() << "it did not throw";
    } catch (const BrokenContract& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("the claims are sorted by digest"),
                                        HasSubstr("expects_test.cc:")));
    }
}

}  // namespace
}  // namespace onceward
