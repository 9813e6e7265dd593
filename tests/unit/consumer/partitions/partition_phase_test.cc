#include "consumer/partitions/partition_phase.h"

#include "tests/support/state_diagram.h"

namespace onceward {
namespace {

TEST(PartitionPhaseTest, TheDiagramOfThePageIsTheTableOfTheCode) {
    support::expect_drawn(partition_machine, "A partition");
}

TEST(PartitionPhaseTest, AFenceThatNobodyTakesIsRefused) {
    for (const PartitionPhase phase :
         {PartitionPhase::wants_seek, PartitionPhase::reading, PartitionPhase::halted}) {
        EXPECT_EQ(partition_machine.after(phase, PartitionEvent::fence_taken), std::nullopt)
            << partition_machine.text(phase);
    }
}

TEST(PartitionPhaseTest, OnlyAHandOrItsTimeMovesAHaltedPartition) {
    for (std::size_t event = 0; event < partition_machine.rows.size(); ++event) {
        const auto what = static_cast<PartitionEvent>(event);
        const auto next = partition_machine.after(PartitionPhase::halted, what);
        const auto wanted =
            what == PartitionEvent::wake ? PartitionPhase::wants_fence : PartitionPhase::halted;
        EXPECT_EQ(next.value_or(PartitionPhase::halted), wanted) << partition_machine.text(what);
    }
}

}  // namespace
}  // namespace onceward
