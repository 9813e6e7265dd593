#pragma once
// Hands a seed over to the checker, which is a program of its own, and reads its verdict.

#include <vector>

#include "tests/faults/campaign/injector.h"
#include "tests/faults/campaign/names.h"
#include "tests/faults/campaign/plan.h"
#include "tests/faults/campaign/seed_result.h"
#include "tests/faults/campaign/stage.h"

namespace onceward::campaign {

struct Judged {
    bool failed_over = false;
    bool committed_offset_moved = false;
    Injector::LostTime lost;
    bool rewound = false;
    std::vector<Injector::TopicTime> troubles;
    // A topic that makes no progress from then on, with this many partitions, and whether a worker
    // says so.
    struct Halted {
        Injector::TopicTime since;
        int partitions = 0;
        bool said = false;
    };
    std::vector<Halted> halted;
    // What a fault means for the judge, whether or not it takes effect.
    void take(FaultKind kind) {
        committed_offset_moved |= kind == FaultKind::foreign_commit;
        // A fence that moved on meanwhile is moved back by the one as well.
        rewound |= kind == FaultKind::operator_back || kind == FaultKind::operator_forward;
    }
};

// Writes scene.json for the checker.
void write_scene(const Plan& plan, const Names& names, const Stage& stage, const Judged& judged);
// Runs the checker on it; its numbers and violations go into the result. Throws std::runtime_error
// where it gives no verdict.
void run_checker(const Names& names, SeedResult& result);

}  // namespace onceward::campaign
