#include "tests/faults/campaign/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/faults/campaign/commit_faults.h"

namespace onceward::campaign {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

SeedResult seed(std::uint64_t number) {
    SeedResult result;
    result.seed = number;
    result.faults = {{"kill_outside", 3}, {"freeze", 2}};
    result.messages = 20'000;
    result.keys = 15'000;
    result.duplicates = 5'000;
    result.kills = 4;
    result.kills_from_outside = 3;
    result.requests = 400;
    result.kinds = {{"http", 1}};
    result.phases = {{"faults", 9.0}, {"judge", 1.5}};
    result.seconds = 12;
    return result;
}

TierSum tier_of_two() {
    TierSum tier;
    tier.tier = "real";
    add(tier, seed(7));
    SeedResult bad = seed(8);
    bad.lost = 1;
    bad.violations = {"I1: a key is missing"};
    add(tier, bad);
    return tier;
}

TEST(CampaignReport, ASeedThatWasRunAgainForWantOfAVerdictIsTold) {
    TierSum tier = tier_of_two();
    EXPECT_THAT(page({tier}, {}), Not(HasSubstr("run again")));
    SeedResult again = seed(9);
    again.again = 1;
    again.without_verdict = "the producer failed";
    EXPECT_THAT(line(again), HasSubstr(", once more, since: the producer failed"));
    add(tier, again);
    EXPECT_THAT(page({tier}, {}), HasSubstr("\n1 seed was run again: "));
    add(tier, TierSum(tier));
    const std::vector<TierSum> read = tiers_of(json_report({tier}, 20));
    EXPECT_EQ(read.at(0).sum.again, 2);
    EXPECT_THAT(page(read, {}), HasSubstr("\n2 seeds were run again: "));
    EXPECT_THAT(page(read, {}), HasSubstr("so they had no verdict.\n"));
}

TEST(CampaignReport, ThePageExplainsTheFaultsOfTheRealTierAndItsLongestTime) {
    TierSum real = tier_of_two();
    real.longest_quiet = 132.6;
    EXPECT_THAT(page({real}, {}), HasSubstr("\n\nA kill from outside (`kill_outside`)"));
    EXPECT_THAT(page({real}, {}), HasSubstr("left to read: 132.6 s. The limits of [I12]"));
    TierSum core = tier_of_two();
    core.tier = "core";
    EXPECT_THAT(page({core}, {}), Not(HasSubstr("from outside (`kill")));
    EXPECT_THAT(page({core}, {}), Not(HasSubstr("I12")));
}

TEST(CampaignReport, HasTheFieldsThatItsReadersWant) {
    const auto report = nlohmann::json::parse(json_report({tier_of_two()}, 20));
    EXPECT_EQ(report["seeds"], 2);
    EXPECT_EQ(report["faults"], 10);
    EXPECT_EQ(report["faults_by_kind"]["kill_outside"], 6);
    EXPECT_EQ(report["messages"], 40'000);
    EXPECT_EQ(report["keys"], 30'000);
    EXPECT_EQ(report["duplicates"], 10'000);
    EXPECT_EQ(report["kills"], 8);
    EXPECT_EQ(report["kills_from_outside"], 6);
    EXPECT_EQ(report["seconds_by_phase"]["judge"], 3.0);
    EXPECT_EQ(report["requests"], 800);
    EXPECT_EQ(report["seeds_by_kind"]["http"], 2);
    EXPECT_EQ(report["lost"], 1);
    EXPECT_EQ(report["twice"], 0);
    EXPECT_EQ(report["violations"], 1);
    EXPECT_EQ(report["seconds"], 20.0);
    EXPECT_EQ(report["failed_seeds"], nlohmann::json::array({8}));
}

TEST(CampaignReport, BothTiersAreSummedAndShownOneByOne) {
    TierSum core = tier_of_two();
    core.tier = "core";
    const auto report = nlohmann::json::parse(json_report({tier_of_two(), core}, 20));
    EXPECT_EQ(report["seeds"], 4);
    EXPECT_EQ(report["faults"], 20);
    EXPECT_EQ(report["tiers"][1]["tier"], "core");
    EXPECT_EQ(report["tiers"][1]["seeds"], 2);
}

TEST(CampaignReport, IsReadAgainForThePageOfALaterRun) {
    const std::string report = json_report({tier_of_two()}, 20);
    EXPECT_EQ(json_report(tiers_of(report), 20), report);
}

TEST(CampaignReport, ALineTellsWhatASeedWasAndWhereItsTimeWent) {
    const std::string text = line(seed(7));
    EXPECT_THAT(text, HasSubstr("seed 7 (http): 5 faults"));
    EXPECT_THAT(text, HasSubstr("; faults 9.0, judge 1.5"));
}

TEST(CampaignReport, RunsOfOneTierAreToldAsOne) {
    TierSum later;
    later.tier = "real";
    add(later, seed(9));
    TierSum core = tier_of_two();
    core.tier = "core";
    const std::vector<TierSum> sums = one_of_each({tier_of_two(), core, later});
    ASSERT_EQ(sums.size(), 2U);
    EXPECT_EQ(sums[0].tier, "real");
    EXPECT_EQ(sums[0].seeds, 3);
    EXPECT_EQ(sums[0].sum.seed, 7U);
    EXPECT_EQ(sums[0].sum.messages, 60'000);
    EXPECT_EQ(sums[0].sum.kinds.at("http"), 3);
    EXPECT_EQ(sums[0].failed, std::vector<std::uint64_t>{8});
    EXPECT_EQ(sums[1].seeds, 2);
}

TEST(CampaignReport, ThePageNamesAFailedSeedWithTheCommandThatRunsItAgain) {
    const std::string text = page({tier_of_two()}, {"2 cores"});
    EXPECT_THAT(text, HasSubstr("- 2 cores\n"));
    EXPECT_THAT(text,
                HasSubstr("| real | 2 | 10 | 8 (6) | 40,000 | 30,000 | 10,000 | 1 | 0 | 1 |"));
    EXPECT_THAT(text, HasSubstr("http 2; requests sent over HTTP: 800."));
    EXPECT_THAT(text, HasSubstr("FIRST_SEED=8"));
    EXPECT_THAT(text, Not(HasSubstr("FIRST_SEED=7")));
}

TEST(CampaignCommitFaults, MeetOnlyWorkersAndEachCommitOnce) {
    using support::CommitFault;
    CommitFaults faults;
    const std::size_t first = faults.add(CommitFault::cut_after, 2);
    const std::size_t second = faults.add(CommitFault::cut_before, 3);
    EXPECT_EQ(faults.next("psql"), CommitFault::none);
    EXPECT_EQ(faults.next("onceward"), CommitFault::cut_after);
    EXPECT_EQ(faults.finish(first), 1);
    EXPECT_EQ(faults.next("onceward retention"), CommitFault::cut_before);
    EXPECT_EQ(faults.finish(second), 1);
    EXPECT_EQ(faults.next("onceward"), CommitFault::none);
}

}  // namespace
}  // namespace onceward::campaign
