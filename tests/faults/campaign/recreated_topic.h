#pragma once
// What follows the verdict on a seed with an operator: its first topic is deleted and created again
// under the same name. Workers must apply nothing of the new log before the operator adopts it, and
// each of its keys exactly once afterwards, although workers are killed before and after that.
// Used by the seed's thread. Borrows its parts for one call.

#include "tests/faults/campaign/fleet.h"
#include "tests/faults/campaign/names.h"
#include "tests/faults/campaign/operator.h"
#include "tests/faults/campaign/plan.h"
#include "tests/faults/campaign/stage.h"
#include "tests/faults/campaign/tally.h"

namespace onceward::campaign {

struct RecreatedTopic {
    const Plan& plan;
    const Names& names;
    Stage& stage;
    Fleet& fleet;  // REQUIRES: stopped; it is running again afterwards
    Operator by;
    Tally& tally;
    int partitions = 1;  // that the first topic has by now

    // Violations and the fault's count go to the tally.
    void run() const;
};

}  // namespace onceward::campaign
