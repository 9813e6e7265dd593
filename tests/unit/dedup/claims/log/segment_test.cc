#include "dedup/claims/log/segment.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "dedup/postgres/binary.h"

namespace onceward {
namespace {

Digest numbered(int number) { return digest_of_bytes(std::to_string(number)); }

std::vector<Digest> many(int first, int count) {
    std::vector<Digest> digests;
    for (int i = 0; i < count; ++i) digests.push_back(numbered(first + i));
    return digests;
}

TEST(FuseFilter, NeverSaysNoOfWhatIsInItAndSeldomYesOfTheRest) {
    for (const int count : {0, 1, 2, 3, 100, 50'000}) {
        const FuseFilter filter(many(0, count));
        int missed = 0, wrong = 0;
        for (int i = 0; i < count; ++i) missed += filter.may_contain(numbered(i)) ? 0 : 1;
        for (int i = 0; i < 200'000; ++i) wrong += filter.may_contain(numbered(-i - 1)) ? 1 : 0;
        EXPECT_EQ(missed, 0) << count;
        EXPECT_LE(wrong, 20) << count;  // 3 are to be expected
    }
}

TEST(FuseFilter, TakesNineteenBitsADigestAtMostAndTenWhereItIsNarrow) {
    const FuseFilter filter(many(0, 200'000));
    EXPECT_LE(filter.bytes() * 8, 200'000U * 19);
    const FuseFilter narrow(many(0, 200'000), FilterKind::narrow);
    EXPECT_LE(narrow.bytes() * 8, 200'000U * 10);
}

TEST(FuseFilter, ANarrowOneNeverSaysNoOfWhatIsInItEither) {
    const FuseFilter filter(FuseFilter(many(0, 50'000), FilterKind::narrow).stored());
    int missed = 0, wrong = 0;
    for (int i = 0; i < 50'000; ++i) missed += filter.may_contain(numbered(i)) ? 0 : 1;
    for (int i = 0; i < 100'000; ++i) wrong += filter.may_contain(numbered(-i - 1)) ? 1 : 0;
    EXPECT_EQ(missed, 0);
    EXPECT_LE(wrong, 600);  // 390 are to be expected
}

TEST(FuseFilter, IsTheSameOnceItWasStored) {
    const FuseFilter made(many(0, 1000));
    const FuseFilter read(made.stored());
    for (int i = -20'000; i < 1000; ++i) {
        ASSERT_EQ(read.may_contain(numbered(i)), made.may_contain(numbered(i)));
    }
    EXPECT_EQ(read.stored(), made.stored());
}

TEST(FuseFilter, WhatIsNoneIsRefused) {
    const std::string stored = FuseFilter(many(0, 1000)).stored();
    EXPECT_THROW(FuseFilter(std::string_view()), std::runtime_error);
    EXPECT_THROW(FuseFilter(std::string_view(stored).substr(0, stored.size() - 2)),
                 std::runtime_error);
    for (std::size_t byte = 8; byte < 28; ++byte) {
        std::string broken = stored;
        broken[byte] = static_cast<char>(broken[byte] + 1);
        if (byte < 12) continue;  // how many there are is only told
        EXPECT_THROW(FuseFilter{std::string_view(broken)}, std::runtime_error) << byte;
    }
}

TEST(Segment, IsCutByTheFirstBitsOfTheDigest) {
    Digest digest;
    digest.bytes[0] = 0xA5;
    digest.bytes[1] = 0xC0;
    EXPECT_EQ(shard_of(digest, 0), 0U);
    EXPECT_EQ(shard_of(digest, 1), 1U);
    EXPECT_EQ(shard_of(digest, 8), 0xA5U);
    EXPECT_EQ(shard_of(digest, 16), 0xA5C0U);
}

TEST(Segment, HasAsManyPiecesAsItNeeds) {
    EXPECT_EQ(shard_bits_for(0, 100), 0);
    EXPECT_EQ(shard_bits_for(100, 100), 0);
    EXPECT_EQ(shard_bits_for(400, 100), 2);
    EXPECT_EQ(shard_bits_for(1'000'000'000'000, 100), 16);
}

TEST(Segment, ADigestThatCameTwiceIsLeftOnce) {
    std::vector<SealedClaim> claims{
        {numbered(1), {}, 7}, {numbered(2), {}, 3}, {numbered(1), {}, 5}};
    sort_claims(claims);
    ASSERT_EQ(claims.size(), 2U);
    EXPECT_LT(claims[0].digest, claims[1].digest);
    for (const SealedClaim& claim : claims) {
        EXPECT_EQ(claim.batch, claim.digest == numbered(1) ? 5U : 3U);
    }
}

// With `reach: partition` it is another claim there.
TEST(Segment, ADigestOfAnotherPartStays) {
    std::vector<SealedClaim> claims{{numbered(1), {}, 3, 2},
                                    {numbered(2), {}, 4, 1},
                                    {numbered(1), {}, 5, 1},
                                    {numbered(1), {}, 6, 2}};
    sort_claims(claims);
    ASSERT_EQ(claims.size(), 3U);
    EXPECT_EQ(claims[0].part, 1);
    EXPECT_EQ(claims[1].part, 1);
    EXPECT_LT(claims[0].digest, claims[1].digest);
    EXPECT_EQ(claims[2].part, 2);
    EXPECT_EQ(claims[2].batch, 3U);
}

TEST(Segment, FiltersOfAllPartsAreNumberedInARow) {
    std::vector<PartExtent> parts{{.claims = 90}, {.claims = 350}, {.claims = 0}};
    cut(parts, 1, 100);
    EXPECT_EQ(parts[0].shard_bits, 0);
    EXPECT_EQ(parts[1].shard_bits, 2);
    EXPECT_EQ(parts[0].first_filter, 1);
    EXPECT_EQ(parts[1].first_filter, 2);
    EXPECT_EQ(parts[2].first_filter, 6);
    Digest digest;
    digest.bytes[0] = 0xC0;
    EXPECT_EQ(filter_of(parts[0], digest), 1);
    EXPECT_EQ(filter_of(parts[1], digest), 5);
}

TEST(Segment, AReadingTakesAsManyFiltersAsThereIsRoomFor) {
    std::vector<PartExtent> parts{
        {.claims = 30}, {.claims = 60}, {.claims = 20}, {.claims = 350}, {.claims = 10}};
    cut(parts, 1, 100);
    std::vector<int> ends;
    int next = 1;
    for (const FilterRange& reading : readings(parts, 100)) {
        EXPECT_EQ(reading.begin, next);
        EXPECT_LE(reading.claims, 100);
        next = reading.end;
        ends.push_back(reading.end);
    }
    EXPECT_EQ(ends, (std::vector<int>{3, 4, 5, 6, 7, 9}));
    EXPECT_TRUE(readings({}, 100).empty());
}

TEST(Segment, ARowOfAPartNamesIt) {
    std::vector<SealedClaim> claims(1);
    const std::size_t whole = block_rows(claims).size();
    claims[0].part = 3;
    const std::string row = block_rows(claims);
    EXPECT_EQ(row.size(), whole + 8);
    EXPECT_EQ(row.substr(row.size() - 8), std::string("\0\0\0\4\0\0\0\3", 8));
    EXPECT_EQ(row[1], 5) << "fields";
}

TEST(Segment, ARowHoldsABlock) {
    const std::vector<SealedClaim> claims(block_digests + 1);
    const std::size_t fields = 4;
    const std::size_t row = 2 + 4 * fields + 16;
    EXPECT_EQ(block_rows(claims).size(), 2 * row + claims.size() * (16 + 4));
    EXPECT_EQ(binary::copy_header.size(), 19U);
}

TEST(SegmentFilter, AsksThePieceOfTheDigest) {
    SegmentFilter filter(1, 2);
    std::vector<std::vector<Digest>> parts(2);
    for (const Digest& digest : many(0, 1000)) parts[shard_of(digest, 1)].push_back(digest);
    EXPECT_EQ(filter.first_missing(), 0U);
    for (std::size_t shard : {0U, 1U}) filter = filter.with(shard, FuseFilter(parts[shard]));
    EXPECT_EQ(filter.first_missing(), std::nullopt);
    for (const Digest& digest : many(0, 1000)) EXPECT_TRUE(filter.may_contain(digest));
}

// DANGER: a no would make each duplicate in it a second effect.
TEST(SegmentFilter, SaysYesToAllThatIsInAShardWithoutItsFilter) {
    const SegmentFilter none(1, 1000);
    for (const Digest& digest : many(0, 1000)) EXPECT_TRUE(none.may_contain(digest));
    const SegmentFilter one = none.with(1, FuseFilter(std::vector<Digest>{}));
    EXPECT_EQ(one.first_missing(), 0U);
    int yes = 0;
    for (const Digest& digest : many(0, 1000)) {
        const bool may = one.may_contain(digest);
        yes += may ? 1 : 0;
        EXPECT_TRUE(may || shard_of(digest, 1) == 1);
    }
    EXPECT_LT(yes, 600);
}

TEST(SegmentFilter, GivesBackTheMemoryOfAsManyFiltersAsAreAskedFor) {
    SegmentFilter filter(2, 1000);
    for (std::size_t shard = 0; shard < 4; ++shard) {
        filter = filter.with(shard, FuseFilter(many(0, 250)));
    }
    const std::size_t all = filter.bytes();
    EXPECT_EQ(filter.less(1).first_missing(), 3U);
    EXPECT_LT(filter.less(1).bytes(), all);
    EXPECT_EQ(filter.less(all).first_missing(), 0U);
    EXPECT_EQ(filter.less(0).bytes(), all);
}

}  // namespace
}  // namespace onceward
