#include "cli/effects/effect_counts.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace onceward {
namespace {

TEST(EffectCounts, TellsRepeatsOfProducersFromEffectsThatAreMissingOrDouble) {
    EffectCounts counts;
    for (const char* const key : {"once", "twice", "twice", "twice", "lost", "doubled"}) {
        counts.came(key);
    }
    counts.came_without_key();
    counts.found({1, 2, 0, 2});
    const nlohmann::json summary = counts.summary();
    EXPECT_EQ(summary.at("messages"), 7);
    EXPECT_EQ(summary.at("without_key"), 1);
    EXPECT_EQ(summary.at("keys"), 4);
    EXPECT_EQ(summary.at("sent_again"), 1);
    EXPECT_EQ(summary.at("repeats"), 2);
    EXPECT_EQ(summary.at("with_one_row"), 1);
    EXPECT_EQ(summary.at("with_several_rows"), 2);
    EXPECT_EQ(summary.at("with_no_row"), 1);
    EXPECT_EQ(summary.at("sent_again_with_several_rows"), 1);
}

TEST(EffectCounts, ShowsTheWorstKeysFirstAndNoneThatIsAsItShouldBe) {
    EffectCounts counts;
    for (const char* const key : {"lost", "good", "twice"}) counts.came(key);
    counts.came("twice");
    counts.found({0, 1, 2});
    const nlohmann::json examples = counts.summary().at("examples");
    ASSERT_EQ(examples.size(), 2U);
    EXPECT_EQ(examples[0], (nlohmann::json{{"key", "twice"}, {"messages", 2}, {"rows", 2}}));
    EXPECT_EQ(examples[1].at("key"), "lost");
}

TEST(EffectCounts, ShowsAFewExamplesOfMany) {
    EffectCounts counts;
    for (int i = 0; i < 100; ++i) counts.came("key-" + std::to_string(i));
    counts.found(std::vector<std::int64_t>(100, 0));
    EXPECT_EQ(counts.summary().at("examples").size(), 10U);
}

}  // namespace
}  // namespace onceward
