#include <gtest/gtest.h>

#include "consumer/partitions/assignment.h"

namespace onceward {
namespace {

using Verdict = ReadAttempts::Verdict;

TEST(ReadAttempts, TheThirdFailureAtOneOffsetHalts) {
    ReadAttempts tries;
    EXPECT_EQ(tries.failed(Offset{7}), Verdict::again);
    EXPECT_EQ(tries.failed(Offset{7}), Verdict::again);
    EXPECT_EQ(tries.failed(Offset{7}), Verdict::halt);
    EXPECT_EQ(tries.failed(Offset{7}), Verdict::halt);
}

TEST(ReadAttempts, AFailureElsewhereBeginsANewCount) {
    ReadAttempts tries;
    tries.failed(Offset{7});
    tries.failed(Offset{7});
    EXPECT_EQ(tries.failed(Offset{9}), Verdict::again);
    EXPECT_EQ(tries.failed(Offset{9}), Verdict::again);
    EXPECT_EQ(tries.failed(Offset{9}), Verdict::halt);
}

}  // namespace
}  // namespace onceward
