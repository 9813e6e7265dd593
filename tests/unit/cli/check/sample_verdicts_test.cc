// What `check --sample` makes of records and of the claims that are known of their keys.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/check/sample.h"

namespace onceward {
namespace {

using testing::ElementsAre;

SampledRecord record(const std::string& digest, int partition, std::int64_t offset) {
    return {"orders", partition, offset, "applied", "", digest};
}

std::vector<std::string> outcomes(std::vector<SampledRecord> records, const KnownClaims& known,
                                  Reach reach) {
    find_duplicates(records, known, reach);
    std::vector<std::string> outcomes;
    for (const SampledRecord& each : records) outcomes.push_back(each.outcome);
    return outcomes;
}

TEST(SampleVerdicts, ADuplicateIsOneWithinTheLedgersReach) {
    const std::vector<SampledRecord> records = {record("a", 0, 1), record("a", 0, 2),
                                                record("a", 1, 7)};
    EXPECT_THAT(outcomes(records, {}, Reach::global),
                ElementsAre("applied", "duplicate", "duplicate"));
    EXPECT_THAT(outcomes(records, {}, Reach::partition),
                ElementsAre("applied", "duplicate", "applied"));
}

TEST(SampleVerdicts, AClaimOfAnotherPartitionCountsOnlyWithGlobalReach) {
    const KnownClaims known = {{"a", {"orders", 0, 3, 9, "noon"}}};
    const std::vector<SampledRecord> records = {record("a", 0, 5), record("a", 0, 10),
                                                record("a", 1, 5)};
    EXPECT_THAT(outcomes(records, known, Reach::global),
                ElementsAre("known", "duplicate", "duplicate"));
    EXPECT_THAT(outcomes(records, known, Reach::partition),
                ElementsAre("known", "duplicate", "applied"));
}

TEST(SampleVerdicts, AnotherFingerprintIsAConflict) {
    const auto with = [](SampledRecord record, const std::string& fingerprint) {
        record.fingerprint = fingerprint;
        return record;
    };
    const KnownClaims known = {{"b", {"orders", 0, 1, 1, "noon", "1"}},
                               {"c", {"orders", 0, 2, 2, "noon"}}};
    EXPECT_THAT(
        outcomes({with(record("a", 0, 5), "1"), with(record("a", 0, 6), "2"),
                  with(record("a", 0, 7), "1"), with(record("b", 0, 8), "2"),
                  with(record("b", 0, 9), "1"), with(record("c", 0, 10), "2")},
                 known, Reach::global),
        ElementsAre("applied", "conflict", "duplicate", "conflict", "duplicate", "duplicate"));
}

TEST(SampleVerdicts, TheClaimThatMayBeTheRecordsOwnIsNamed) {
    const KnownClaims known = {{"a", {"orders", 0, 3, 3, "noon"}},
                               {"a", {"orders", 1, 5, 5, "midnight"}}};
    std::vector<SampledRecord> records = {record("a", 1, 5)};
    find_duplicates(records, known, Reach::global);
    EXPECT_EQ(records[0].reason, "applied at midnight");
}

TEST(SpreadKeys, AKeyIsCountedOnceHoweverManyPartitionsItIsIn) {
    const SpreadKeys spread = find_spread_keys(
        {record("a", 0, 1), record("b", 0, 2), record("a", 1, 4), record("a", 2, 5)}, {});
    EXPECT_EQ(spread.keys, 2U);
    EXPECT_EQ(spread.in_partitions, 1U);
    EXPECT_EQ(spread.example, "orders/0@1 and orders/1@4");
}

TEST(SpreadKeys, AKeyThatKeepsToItsPartitionIsNone) {
    const SpreadKeys spread = find_spread_keys({record("a", 0, 1), record("a", 0, 2)},
                                               {{"a", {"orders", 0, 1, 1, "noon"}}});
    EXPECT_EQ(spread.keys, 1U);
    EXPECT_EQ(spread.in_partitions, 0U);
    EXPECT_EQ(spread.example, "");
}

TEST(SpreadKeys, TheClaimsOfSampledKeysAreSightsToo) {
    const KnownClaims known = {{"a", {"orders", 3, 10, 20, "noon"}},
                               {"unsampled", {"orders", 4, 1, 1, "noon"}}};
    const SpreadKeys spread = find_spread_keys({record("a", 0, 1), record("", 1, 1)}, known);
    EXPECT_EQ(spread.keys, 1U);
    EXPECT_EQ(spread.in_partitions, 1U);
    EXPECT_EQ(spread.example, "orders/0@1 and orders/3@10-20");
}

}  // namespace
}  // namespace onceward
