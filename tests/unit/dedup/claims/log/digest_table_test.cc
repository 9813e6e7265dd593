#include "dedup/claims/log/digest_table.h"

#include <gtest/gtest.h>

#include <string>

namespace onceward {
namespace {

Digest numbered(int number) { return digest_of_bytes(std::to_string(number)); }

TEST(DigestTable, HoldsWhatWasPutInAndNothingElse) {
    DigestTable table;
    constexpr int count = 100'000;
    for (int i = 0; i < count; ++i) table.insert(numbered(i));
    EXPECT_EQ(table.size(), static_cast<std::size_t>(count));
    int missing = 0, strange = 0;
    for (int i = 0; i < count; ++i) {
        missing += table.contains(numbered(i)) ? 0 : 1;
        strange += table.contains(numbered(i + count)) ? 1 : 0;
    }
    EXPECT_EQ(missing, 0);
    EXPECT_EQ(strange, 0);
}

TEST(DigestTable, PutInTwiceItIsThereOnce) {
    DigestTable table;
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 1000; ++i) table.insert(numbered(i));
    }
    EXPECT_EQ(table.size(), 1000U);
}

// Zeros mark a free slot.
TEST(DigestTable, TheDigestOfZerosIsADigestToo) {
    DigestTable table;
    EXPECT_FALSE(table.contains({}));
    table.insert({}, numbered(1));
    table.insert({}, numbered(2));
    EXPECT_TRUE(table.contains({}));
    EXPECT_EQ(table.fingerprint({}), numbered(1));
    EXPECT_EQ(table.size(), 1U);
}

// They differ in bytes that the hash does not look at.
TEST(DigestTable, DigestsWithTheSameHashAreTold) {
    DigestTable table;
    Digest one, two;
    one.bytes[0] = 1;
    two.bytes[0] = 2;
    table.insert(one);
    EXPECT_FALSE(table.contains(two));
    table.insert(two);
    EXPECT_TRUE(table.contains(one));
    EXPECT_TRUE(table.contains(two));
}

TEST(DigestTable, KeepsTheFirstFingerprintOfADigestThroughItsGrowth) {
    DigestTable table;
    table.insert(numbered(-1));
    for (int i = 0; i < 10'000; ++i) table.insert(numbered(i), numbered(2 * i));
    table.insert(numbered(5), numbered(7));
    EXPECT_EQ(table.fingerprint(numbered(-1)), std::nullopt);
    for (int i = 0; i < 10'000; ++i) ASSERT_EQ(table.fingerprint(numbered(i)), numbered(2 * i));
}

TEST(DigestTable, KeepsTheBatchOfAFingerprintThroughItsGrowth) {
    DigestTable table;
    table.insert(numbered(-1), std::nullopt, 4);
    for (int i = 0; i < 10'000; ++i) table.insert(numbered(i), numbered(2 * i), i);
    table.insert(numbered(5), numbered(7), 7);
    table.insert({}, numbered(8), 9);
    EXPECT_EQ(table.batch(numbered(-1)), 0);
    EXPECT_EQ(table.batch(numbered(20'000)), 0);
    EXPECT_EQ(table.batch({}), 9);
    for (int i = 0; i < 10'000; ++i) ASSERT_EQ(table.batch(numbered(i)), i);
}

TEST(DigestTable, IsFilledToThreeEighthsAtLeastAndThreeQuartersAtMost) {
    DigestTable table;
    for (int i = 0; i < 200'000; ++i) table.insert(numbered(i));
    EXPECT_LE(table.bytes() / table.size(), 43U);  // just after all have doubled
    EXPECT_GE(table.bytes() / table.size(), 21U);
}

}  // namespace
}  // namespace onceward
