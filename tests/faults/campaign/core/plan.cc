#include "tests/faults/campaign/core/plan.h"

#include <cstdlib>

#include "tests/faults/campaign/core/draws.h"

namespace onceward::campaign::core {
namespace {

// Steps at which a worker's transaction holds the rows of its fences, and those at which not.
constexpr Step inside[] = {Step::after_fence, Step::after_claims, Step::after_sink,
                           Step::before_commit};
constexpr Step outside[] = {Step::before_begin, Step::after_commit, Step::after_take_over};
constexpr Step all[] = {Step::before_begin,     Step::after_fence,    Step::after_claims,
                        Step::after_sink,       Step::before_commit,  Step::after_commit,
                        Step::before_take_over, Step::after_take_over};

template <std::size_t size>
Step one_of(Draws& draws, const Step (&steps)[size]) {
    return steps[draws.below(size)];
}

// The ledger's draw is not the plan's own: with another one the same seed does all the rest as
// before.
constexpr std::uint64_t ledger_salt = 0xD1B5'4A32'D192'ED03U;
constexpr std::uint64_t at_once_salt = 0x9E37'79B9'7F4A'7C15U;
constexpr std::uint64_t conversion_salt = 0xBF58'476D'1CE4'E5B9U;
constexpr std::uint64_t server_salt = 0x94D0'49BB'1331'11EBU;

void draw_ledger(Plan& plan) {
    Draws draws(plan.seed ^ ledger_salt);
    const auto number = static_cast<int>(draws.below(100));
    if (number < 40) return;
    if (number < 65) {
        plan.ledger = LedgerKind::log;
    } else if (number < 90) {
        plan.ledger = LedgerKind::log_in_one_process;
    } else {
        plan.ledger = LedgerKind::log_of_partitions;
        plan.mirrored_percent = 0;
    }
}

// In half of the seeds with a log. Small batches, and so few messages that they do not take long.
void draw_at_once(Plan& plan) {
    Draws draws(plan.seed ^ at_once_salt);
    const bool log =
        plan.ledger == LedgerKind::log || plan.ledger == LedgerKind::log_in_one_process;
    plan.at_once = log && draws.percent(50);
    if (!plan.at_once) return;
    plan.batch_messages = draws.between(2, 24);
    plan.messages = std::min(plan.messages, 200 * plan.batch_messages);
    plan.second_wave = std::min(plan.second_wave, plan.messages / 2);
}

// In half of the seeds with a table. A server that fails over would take the time of both.
void draw_conversion(Plan& plan) {
    Draws draws(plan.seed ^ conversion_salt);
    if (plan.ledger != LedgerKind::table || plan.server == ServerKind::replicated) return;
    if (draws.percent(50)) plan.converts_at = draws.between(2, 20);
}

Step step_of(FaultKind kind, Draws& draws) {
    switch (kind) {
        case FaultKind::cut:
        case FaultKind::terminated:
        case FaultKind::killed:
        case FaultKind::killed_left_open:
        case FaultKind::frozen: return one_of(draws, all);
        case FaultKind::reassigned: return one_of(draws, inside);
        case FaultKind::stolen_fence: return one_of(draws, outside);
        case FaultKind::cut_at_byte:
        case FaultKind::dropped_batch: return Step::after_commit;
        case FaultKind::swallowed_in_sink:
        case FaultKind::passing_error: return Step::after_fence;
        case FaultKind::commit_cut_before:
        case FaultKind::commit_cut_inside_request:
        case FaultKind::commit_cut_after:
        case FaultKind::commit_cut_inside_answer:
        case FaultKind::swallowed_at_commit: return Step::before_commit;
        case FaultKind::lock_time_out:
        case FaultKind::server_killed:
        case FaultKind::failed_over: return Step::before_begin;
    }
    std::abort();
}

// What a worker's fault may be, the cheap ones and the COMMIT in doubt more often.
FaultKind draw_kind(Draws& draws, int workers) {
    const auto number = static_cast<int>(draws.below(100));
    if (number < 16) return FaultKind::cut;
    if (number < 24) return FaultKind::commit_cut_before;
    if (number < 29) return FaultKind::commit_cut_inside_request;
    if (number < 37) return FaultKind::commit_cut_after;
    if (number < 42) return FaultKind::commit_cut_inside_answer;
    if (number < 47) return FaultKind::cut_at_byte;
    if (number < 52) return FaultKind::terminated;
    if (number < 62) return FaultKind::killed;
    if (number < 64) return FaultKind::killed_left_open;
    if (number < 70) return workers > 1 ? FaultKind::frozen : FaultKind::killed;
    if (number < 76) return workers > 1 ? FaultKind::reassigned : FaultKind::cut;
    if (number < 83) return FaultKind::stolen_fence;
    if (number < 88) return FaultKind::dropped_batch;
    if (number < 90) return FaultKind::swallowed_in_sink;
    if (number < 93) return FaultKind::swallowed_at_commit;
    if (number < 99) return FaultKind::passing_error;
    return FaultKind::lock_time_out;
}

void draw_workload(Plan& plan, Draws& draws) {
    plan.partitions = draws.between(1, 6);
    plan.workers = draws.between(1, 4);
    plan.batch_messages = draws.between(80, 640);
    const int batches = draws.between(12, 24);
    plan.messages = plan.batch_messages * batches / 2 + draws.between(500, 2500);
    plan.duplicate_percent = draws.percent(20) ? draws.between(30, 70) : draws.between(0, 25);
    plan.mirrored_percent = plan.partitions > 1 && draws.percent(60) ? draws.between(10, 60) : 0;
    plan.nul_percent = draws.percent(30) ? draws.between(1, 10) : 0;
    // Each costs tens of transactions: a batch is halved until the bad message stands alone.
    plan.poison_per_10000 = draws.percent(40) ? draws.between(1, 4) : 0;
    plan.rejected_per_10000 = draws.percent(40) ? draws.between(1, 100) : 0;
    plan.skipped_per_10000 = draws.percent(30) ? draws.between(1, 100) : 0;
    plan.gap_percent = draws.percent(50) ? draws.between(1, 5) : 0;
    plan.future_percent = draws.percent(20) ? draws.between(1, 50) : 0;
    plan.fingerprints = draws.percent(25);
    if (draws.percent(30)) {
        plan.rotate_claims = draws.between(150, 1500);
        if (draws.percent(50)) plan.second_wave = plan.messages / 2;
    }
    if (plan.partitions > 1 && draws.percent(plan.rotate_claims > 0 ? 70 : 10)) {
        plan.unowned_partition =
            static_cast<int>(draws.below(static_cast<std::uint64_t>(plan.partitions)));
    }
}

}  // namespace

Plan draw_plan(std::uint64_t seed) {
    Draws draws(seed);
    Plan plan;
    plan.seed = seed;
    draw_workload(plan, draws);
    draw_ledger(plan);
    const int each = plan.messages / plan.batch_messages / plan.workers;
    const int count = draws.between(2, 10);
    for (int i = 0; i < count; ++i) {
        PlannedFault fault;
        fault.kind = draw_kind(draws, plan.workers);
        fault.worker = static_cast<int>(draws.below(static_cast<std::uint64_t>(plan.workers)));
        fault.batch = draws.between(1, each < 2 ? 2 : each);
        fault.step = step_of(fault.kind, draws);
        fault.number = draws.below(draws.percent(50) ? 3'000 : 100'000);
        plan.faults.push_back(fault);
    }
    const auto server = draws.below(1000);
    PlannedFault whole{FaultKind::server_killed, -1, draws.between(2, each * plan.workers + 2),
                       Step::before_begin, draws.below(8)};
    // A log's memory must not outlive a fail-over, which is too seldom for that otherwise.
    const bool fails_over =
        Draws(seed ^ server_salt).percent(2) && plan.ledger != LedgerKind::table;
    if (server < 15) {
        plan.server = ServerKind::mortal;
        plan.faults.push_back(whole);
    } else if (server < 20 || fails_over) {
        plan.server = ServerKind::replicated;
        whole.kind = FaultKind::failed_over;
        plan.faults.push_back(whole);
    }
    draw_conversion(plan);
    draw_at_once(plan);
    return plan;
}

}  // namespace onceward::campaign::core
