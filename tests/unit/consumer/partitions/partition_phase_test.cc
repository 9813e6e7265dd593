#include "consumer/partitions/partition_phase.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <string>

namespace onceward {
namespace {

using testing::ElementsAreArray;

// FROM --> TO: EVENT
using Arrows = std::set<std::string>;

Arrows arrows_of_the_table() {
    Arrows arrows;
    for (int from = 0; from < partition_phases; ++from) {
        for (int event = 0; event < partition_events; ++event) {
            const auto phase = static_cast<PartitionPhase>(from);
            const auto what = static_cast<PartitionEvent>(event);
            const auto next = next_phase(phase, what);
            if (!next || *next == phase) continue;
            arrows.insert(std::string(to_text(phase)) + " --> " + std::string(to_text(*next)) +
                          ": " + std::string(to_text(what)));
        }
    }
    return arrows;
}

Arrows arrows_of_the_diagram() {
    std::ifstream page(ONCEWARD_SOURCE_FOLDER "/docs/states.md");
    const std::regex arrow(R"(\s+(\w+ --> \w+: \w+))");
    Arrows arrows;
    bool of_a_partition = false;
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("## ")) of_a_partition = line == "## A partition";
        std::smatch found;
        if (of_a_partition && std::regex_match(line, found, arrow)) arrows.insert(found[1]);
    }
    return arrows;
}

TEST(PartitionPhaseTest, TheDiagramOfThePageIsTheTableOfTheCode) {
    EXPECT_THAT(arrows_of_the_diagram(), ElementsAreArray(arrows_of_the_table()));
}

TEST(PartitionPhaseTest, AFenceThatNobodyTakesIsRefused) {
    for (const PartitionPhase phase :
         {PartitionPhase::wants_seek, PartitionPhase::reading, PartitionPhase::halted}) {
        EXPECT_EQ(next_phase(phase, PartitionEvent::fence_taken), std::nullopt) << to_text(phase);
    }
}

TEST(PartitionPhaseTest, OnlyAHandOrItsTimeMovesAHaltedPartition) {
    for (int event = 0; event < partition_events; ++event) {
        const auto what = static_cast<PartitionEvent>(event);
        const auto next = next_phase(PartitionPhase::halted, what);
        const auto wanted =
            what == PartitionEvent::wake ? PartitionPhase::wants_fence : PartitionPhase::halted;
        EXPECT_EQ(next.value_or(PartitionPhase::halted), wanted) << to_text(what);
    }
}

}  // namespace
}  // namespace onceward
