// The core tier itself: plans that repeat, and two seeds of it.

#include "tests/faults/campaign/core/core_campaign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "dedup/base/logging.h"
#include "dedup/base/mutants.h"
#include "tests/faults/campaign/core/draws.h"
#include "tests/faults/campaign/core/plan.h"
#include "tests/faults/campaign/core/trace.h"

namespace onceward::campaign::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CorePlan, IsTheSameForTheSameSeedAndAnotherForAnother) {
    std::set<std::string> plans;
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
        const std::string plan = to_text(draw_plan(seed));
        EXPECT_EQ(plan, to_text(draw_plan(seed)));
        plans.insert(plan);
    }
    EXPECT_EQ(plans.size(), 500U);
}

// The draws must not depend on the machine's standard library.
TEST(CorePlan, IsTheSameOnEveryMachine) {
    Draws draws(1);
    EXPECT_EQ(draws.below(1'000'000'007), 2'469'588'189'546'311'528U % 1'000'000'007);
}

TEST(CorePlan, EveryKindOfFaultIsDrawn) {
    std::set<FaultKind> kinds;
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
        for (const PlannedFault& fault : draw_plan(seed).faults) kinds.insert(fault.kind);
    }
    EXPECT_EQ(kinds.size(), static_cast<std::size_t>(fault_kinds));
}

// A transaction's number is drawn when it begins; its moves say when it committed. What moved no
// fence comes last, where the model refuses it.
TEST(CoreTrace, HasTheTransactionsInTheOrderOfTheirLastMoves) {
    checker::Evidence evidence;
    evidence.effects = {{.place = {0, 1, 3}, .transaction = 5},
                        {.place = {0, 1, 4}, .transaction = 9}};
    evidence.moves = {{.sequence = 1, .name = {0, 0}, .transaction = 7},
                      {.sequence = 2, .name = {0, 0}, .transaction = 8},
                      {.sequence = 3, .name = {0, 1}, .transaction = 7},
                      {.sequence = 4, .name = {0, 1}, .transaction = 5}};
    std::stringstream trace;
    write_trace(evidence, trace);
    std::vector<int> transactions;
    std::size_t effects = 0;
    for (std::string line; std::getline(trace, line);) {
        const auto json = nlohmann::json::parse(line);
        if (!json.contains("transaction")) continue;
        transactions.push_back(json["transaction"].get<int>());
        effects += json["effects"].size();
    }
    EXPECT_THAT(transactions, ElementsAre(8, 7, 5, 9));
    EXPECT_EQ(effects, 2U);
}

TEST(CoreCampaign, SomeSeedsHoldAllInvariants) {
    configure_log({.level = LogLevel::off});
    CoreCampaignOptions options;
    options.seeds = 3;
    const CoreCampaignResult result = run_core_campaign(options, std::cout);
    EXPECT_THAT(result.violations, IsEmpty());
    EXPECT_EQ(result.seeds, 3);
    EXPECT_GT(result.faults, 0);
    EXPECT_GT(result.keys, 1000);
    print_table(result, std::cout);
}

// The guards that mutants turn off are not to be turned off in the program that users run.
#ifndef ONCEWARD_MUTANTS
TEST(Mutants, AreNotInTheProgram) {
    static_assert(!mutants_built && !mutant("no_fence_check"));
    std::ifstream file(ONCEWARD_EXECUTABLE, std::ios::binary);
    const std::string program{std::istreambuf_iterator<char>(file), {}};
    ASSERT_GT(program.size(), 100'000U);
    EXPECT_EQ(program.find("ONCEWARD_"
                           "MUTANT"),
              std::string::npos);
}
#endif

}  // namespace
}  // namespace onceward::campaign::core
