#pragma once
// Hands a seed over to the checker, which is a program of its own, and reads its verdict.

#include <vector>

#include "tests/faults/campaign/names.h"
#include "tests/faults/campaign/plan.h"
#include "tests/faults/campaign/seed_result.h"
#include "tests/faults/campaign/stage.h"

namespace onceward::campaign {

struct Judged {
    bool failed_over = false;
    bool committed_offset_moved = false;
};

// Writes scene.json for the checker.
void write_scene(const Plan& plan, const Names& names, const Stage& stage, const Judged& judged);
// Runs the checker on it; its numbers and violations go into the result. Throws std::runtime_error
// where it gives no verdict.
void run_checker(const Names& names, SeedResult& result);

}  // namespace onceward::campaign
