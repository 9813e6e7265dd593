#include "lab/demo/verdict.h"

#include <gtest/gtest.h>

#include <vector>

namespace onceward::demo {
namespace {

Digest key(int number) {
    Digest digest;
    digest.bytes[0] = static_cast<std::uint8_t>(number);
    return digest;
}

// Two payments, of which one was produced three times, and an order.
const std::vector<ProducedKey> produced{
    {Topic::payments, key(1), 3}, {Topic::payments, key(2), 1}, {Topic::orders, key(3), 2}};

TEST(Verdict, OneRowForEachKeyIsGood) {
    const Verdict verdict = judge(produced, std::vector<AppliedKey>{{Topic::payments, key(1), 1},
                                                                    {Topic::payments, key(2), 1},
                                                                    {Topic::orders, key(3), 1}});
    EXPECT_TRUE(verdict.good());
    EXPECT_EQ(verdict.produced, 6);
    EXPECT_EQ(verdict.unique_keys, 3);
    EXPECT_EQ(verdict.applied, 3);
    EXPECT_EQ(verdict.duplicates, 3);
}

TEST(Verdict, AKeyWithoutARowIsLostWithAllItsMessages) {
    const Verdict verdict = judge(produced, std::vector<AppliedKey>{{Topic::payments, key(2), 1},
                                                                    {Topic::orders, key(3), 1}});
    EXPECT_FALSE(verdict.good());
    EXPECT_EQ(verdict.lost, 3);
    EXPECT_EQ(verdict.produced, verdict.applied + verdict.duplicates + verdict.lost);
}

TEST(Verdict, TwoRowsOfAKeyAreAppliedTwice) {
    const Verdict verdict = judge(produced, std::vector<AppliedKey>{{Topic::payments, key(1), 3},
                                                                    {Topic::payments, key(2), 1},
                                                                    {Topic::orders, key(3), 1}});
    EXPECT_FALSE(verdict.good());
    EXPECT_EQ(verdict.twice, 2);
    EXPECT_EQ(verdict.lost, 0);
}

TEST(Verdict, AKeyThatNobodyProducedIsFound) {
    const Verdict verdict = judge(produced, std::vector<AppliedKey>{{Topic::payments, key(1), 1},
                                                                    {Topic::payments, key(2), 1},
                                                                    {Topic::orders, key(3), 1},
                                                                    {Topic::orders, key(9), 1}});
    EXPECT_FALSE(verdict.good());
    EXPECT_EQ(verdict.unknown, 1);
}

TEST(Verdict, ARowInTheOtherTopicsTableDoesNotCount) {
    const Verdict verdict = judge(produced, std::vector<AppliedKey>{{Topic::payments, key(1), 1},
                                                                    {Topic::payments, key(2), 1},
                                                                    {Topic::payments, key(3), 1}});
    EXPECT_EQ(verdict.lost, 2);
    EXPECT_EQ(verdict.unknown, 1);
}

}  // namespace
}  // namespace onceward::demo
