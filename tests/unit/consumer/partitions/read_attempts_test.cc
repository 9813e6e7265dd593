#include "consumer/partitions/read_attempts.h"

#include <gtest/gtest.h>

namespace onceward {
namespace {

using Verdict = ReadTries::Verdict;

TEST(ReadTries, TheThirdFailureAtOneOffsetHalts) {
    ReadTries tries;
    EXPECT_EQ(tries.failed(Offset{7}), Verdict::again);
    EXPECT_EQ(tries.failed(Offset{7}), Verdict::again);
    EXPECT_EQ(tries.failed(Offset{7}), Verdict::halt);
    EXPECT_EQ(tries.failed(Offset{7}), Verdict::halt);
}

TEST(ReadTries, AFailureElsewhereBeginsANewCount) {
    ReadTries tries;
    tries.failed(Offset{7});
    tries.failed(Offset{7});
    EXPECT_EQ(tries.failed(Offset{9}), Verdict::again);
    EXPECT_EQ(tries.tries(), 1);
}

}  // namespace
}  // namespace onceward
