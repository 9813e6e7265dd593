#include "dedup/leases/lease_state.h"

#include "tests/support/state_diagram.h"

namespace onceward {
namespace {

TEST(LeaseStateTest, TheDiagramOfThePageIsTheTableOfTheCode) {
    support::expect_drawn(lease_machine, "A lease");
}

TEST(LeaseStateTest, NothingIsCalledUnlessItsTryIsWrittenDown) {
    for (std::size_t state = 0; state < lease_machine.names.size(); ++state) {
        const auto from = static_cast<LeaseState>(state);
        if (from == LeaseState::ready) continue;
        EXPECT_EQ(lease_machine.after(from, LeaseStep::begin), std::nullopt)
            << lease_machine.text(from);
    }
}

TEST(LeaseStateTest, WhatHasItsEndInTheLedgerNeverChangesAgain) {
    for (std::size_t step = 0; step < lease_machine.rows.size(); ++step) {
        const auto what = static_cast<LeaseStep>(step);
        for (const LeaseState from : {LeaseState::written, LeaseState::settled}) {
            EXPECT_EQ(lease_machine.after(from, what), std::nullopt) << lease_machine.text(what);
        }
    }
}

}  // namespace
}  // namespace onceward
