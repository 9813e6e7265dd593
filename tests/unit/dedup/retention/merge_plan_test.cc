// Which segments are merged, and when.

#include "dedup/retention/merge_plan.h"

#include <gmock/gmock.h>

#include <random>
#include <vector>

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr MergeRule rule{.fewest = 4, .most_claims = 1000, .longest = 3h};

// Segments of so many claims, one a minute, the last of which was sealed `age` ago.
std::vector<MergeCandidate> minutes_apart(const std::vector<std::int64_t>& claims,
                                          std::chrono::milliseconds age = 1min) {
    std::vector<MergeCandidate> candidates;
    const std::chrono::milliseconds all = claims.size() * 1min;
    for (std::size_t i = 0; i < claims.size(); ++i) {
        candidates.push_back({.generation = static_cast<std::int64_t>(i + 1),
                              .claims = claims[i],
                              .began = i * 1min,
                              .sealed = (i + 1) * 1min,
                              .age = age + all - (i + 1) * 1min,
                              .mergeable = true});
    }
    return candidates;
}

using Range = std::optional<MergeRange>;

TEST(MergePlan, NothingIsDueWhereFewAreThere) {
    EXPECT_EQ(merge_due({}, rule), Range());
    EXPECT_EQ(merge_due(minutes_apart({10, 10, 10}), rule), Range());
}

TEST(MergePlan, TheNewestOfAboutOneSizeBecomeOne) {
    EXPECT_EQ(merge_due(minutes_apart({10, 10, 10, 10}), rule), Range({0, 4}));
    EXPECT_EQ(merge_due(minutes_apart({100, 10, 10, 10}), rule), Range());
    EXPECT_EQ(merge_due(minutes_apart({500, 10, 10, 10, 10}), rule), Range({1, 5}))
        << "a large one is not written again for so few";
    EXPECT_EQ(merge_due(minutes_apart({40, 40, 40, 10, 10, 10, 10}), rule), Range({0, 7}))
        << "the merged one would be as large as those before it";
}

TEST(MergePlan, WhatIsNoSegmentYetOrHasResultsDividesThem) {
    auto candidates = minutes_apart({10, 10, 10, 10, 10, 10, 10, 10});
    candidates[5].mergeable = false;
    EXPECT_EQ(merge_due(candidates, rule), Range({0, 5}));
    candidates[2].mergeable = false;
    EXPECT_EQ(merge_due(candidates, rule), Range());
}

TEST(MergePlan, NoSegmentOutgrowsTheMost) {
    EXPECT_EQ(merge_due(minutes_apart({250, 250, 250, 250}), rule), Range({0, 4}));
    EXPECT_EQ(merge_due(minutes_apart({300, 300, 300, 300}), rule), Range());
}

// DANGER: a segment expires as a whole. A longer one would keep its oldest claims for longer than
// the disk was planned for.
TEST(MergePlan, NoSegmentLastsLongerThanAGenerationMay) {
    auto candidates = minutes_apart({10, 10, 10, 10});
    candidates[0].began -= 3h;
    EXPECT_EQ(merge_due(candidates, rule), Range());
}

TEST(MergePlan, WhatNothingNewerCanJoinBecomesOne) {
    EXPECT_EQ(merge_due(minutes_apart({500, 10}, 4h), rule), Range({0, 2}));
    EXPECT_EQ(merge_due(minutes_apart({500, 10}, 1h), rule), Range());
    EXPECT_EQ(merge_due(minutes_apart({700, 700}, 4h), rule), Range());
    EXPECT_EQ(merge_due(minutes_apart({700}, 4h), rule), Range());
}

// A day of generations that are sealed by size, at a changing rate: how many segments there are,
// and how often a claim is written.
TEST(MergePlan, ADaysSegmentsAreFewAndNoClaimIsWrittenOften) {
    constexpr MergeRule of_a_day{.longest = 3h};
    std::mt19937 random(7);
    std::vector<MergeCandidate> segments;
    std::chrono::milliseconds now{};
    std::int64_t generation = 0, claims = 0, written = 0;
    std::size_t most = 0;
    while (now < 24h) {
        const auto took = std::chrono::milliseconds(10'000 + random() % 200'000);
        segments.push_back({.generation = ++generation,
                            .claims = 2'000'000,
                            .began = now,
                            .sealed = now + took,
                            .mergeable = true});
        claims += segments.back().claims;
        now += took;
        for (MergeCandidate& one : segments) one.age = now - one.sealed;
        while (const auto due = merge_due(segments, of_a_day)) {
            MergeCandidate merged = segments[due->begin];
            merged.claims = 0;
            for (std::size_t i = due->begin; i < due->end; ++i) merged.claims += segments[i].claims;
            written += merged.claims;
            merged.sealed = segments[due->end - 1].sealed;
            merged.age = segments[due->end - 1].age;
            ASSERT_LE(merged.sealed - merged.began, of_a_day.longest);
            ASSERT_LE(merged.claims, of_a_day.most_claims);
            const auto at = segments.begin() + static_cast<std::ptrdiff_t>(due->begin);
            segments.erase(at, at + static_cast<std::ptrdiff_t>(due->size()));
            segments.insert(segments.begin() + static_cast<std::ptrdiff_t>(due->begin), merged);
        }
        most = std::max(most, segments.size());
    }
    std::cout << generation << " generations, at most " << most << " segments, a claim written "
              << static_cast<double>(written) / static_cast<double>(claims) << " times by merges\n";
    EXPECT_LE(most, 32U);
    EXPECT_LE(written, 5 * claims);
}

}  // namespace
}  // namespace onceward
