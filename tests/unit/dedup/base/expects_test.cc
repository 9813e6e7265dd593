#include "dedup/base/expects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "dedup/postgres/error.h"

namespace onceward {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

TEST(ExpectsTest, AConditionThatHoldsCostsNothingMore) {
    EXPECT_NO_THROW(expects(true, "it holds"));
}

TEST(ExpectsTest, ABrokenContractNamesItsSentenceAndItsPlace) {
    try {
        expects(false, "the claims are sorted by digest");
        FAIL() << "it did not throw";
    } catch (const BrokenContract& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("the claims are sorted by digest"),
                                        HasSubstr("(tests/unit/dedup/base/expects_test.cc:")));
    }
}

TEST(PlaceTest, IsAPathInTheTree) {
    const auto where = std::source_location::current();
    EXPECT_EQ(place_of(where),
              "tests/unit/dedup/base/expects_test.cc:" + std::to_string(where.line()));
}

// The default argument is the library's own place here.
TEST(PlaceTest, OfAFileElsewhereIsItsNameAlone) {
    const auto error = std::make_unique<PostgresError>(PostgresError::Diagnosis{});
    EXPECT_THAT(place_of(error->where()), MatchesRegex("[a-z_]+\\.h:[0-9]+"));
}

}  // namespace
}  // namespace onceward
