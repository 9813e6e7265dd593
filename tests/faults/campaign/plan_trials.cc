// What some seeds are about besides the faults that all have: DDL, codes of the sink's own, a full
// disk, a restore, operators' commands, one topic in trouble, ledgers of one partition; fail-overs
// during requests and calls; and stores whose segments merge, or that are changed.

#include <algorithm>

#include "tests/faults/campaign/plan.h"

namespace onceward::campaign {
namespace {

// The table is locked for as long as an index takes on a large table: longer than a whole seed is.
constexpr milliseconds long_phase{28'000};
constexpr milliseconds operators_phase{14'000};
constexpr milliseconds trouble_phase{22'000};
constexpr milliseconds leader_moves_phase{28'000};
constexpr std::size_t faults_beside_trouble = 8;
// Workers see added partitions some twelve seconds later; then they are watched for a while.
constexpr milliseconds reach_phase{30'000};
constexpr milliseconds last_rebalance{1000};
// Longer than a seed sends.
constexpr milliseconds never_late{30'000};
// The smallest generation that a configuration may have, and a time in which a seed has several of
// them. A process looks for full generations four times as often.
constexpr int fewest_claims = 1000;
constexpr milliseconds merged_within{16'000};
constexpr int most_messages = 18'000;
constexpr milliseconds merging_phase{16'000};

FaultPlan fault(Draws& draws, FaultKind kind, std::pair<int, int> at, std::pair<int, int> lasts) {
    FaultPlan drawn;
    drawn.kind = kind;
    drawn.at = milliseconds(draws.between(at.first, at.second));
    drawn.lasts = milliseconds(draws.between(lasts.first, lasts.second));
    drawn.target = static_cast<std::uint32_t>(draws.below(1'000'000));
    drawn.amount = static_cast<std::uint32_t>(draws.between(1, 3));
    return drawn;
}

// The same faults over a longer time.
void stretch(Plan& plan, milliseconds phase) {
    for (FaultPlan& fault : plan.faults)
        fault.at = fault.at * phase.count() / plan.fault_phase.count();
    plan.fault_phase = phase;
}

bool has_tables(const Plan& plan) {
    return plan.outside == Outside::nothing || plan.outside == Outside::outbox;
}

void use_schema_changes(Draws& draws, Plan& plan) {
    plan.trial = Trial::schema_changes;
    stretch(plan, long_phase);
    plan.faults.push_back(
        fault(draws, FaultKind::long_table_lock, {500, 4000}, {12'000, 20'000}));
    for (const FaultKind kind :
         {FaultKind::create_index, FaultKind::add_column, FaultKind::alter_column_type})
        plan.faults.push_back(fault(draws, kind, {500, 24'000}, {100, 100}));
}

// Each refused row has its batch done again in parts: large batches would take too long.
void use_own_codes(Draws& draws, Plan& plan) {
    plan.trial = Trial::own_codes;
    plan.workload.refused = static_cast<int>(draws.between(2, 6));
    plan.fleet.batch_messages = std::min(plan.fleet.batch_messages, 100);
}

void use_full_disk(Draws& draws, Plan& plan) {
    plan.trial = Trial::disk_full;
    for (const int begin : {1000, 4000, 6500})
        plan.faults.push_back(
            fault(draws, FaultKind::disk_full, {begin, begin + 1500}, {600, 2000}));
}

// The copy is taken at that time, and comes back when its time is over.
void use_restore(Draws& draws, Plan& plan) {
    plan.trial = Trial::restore;
    plan.faults.push_back(fault(draws, FaultKind::restore, {1500, 3500}, {2500, 5000}));
}

// What an operator does to keys is judged by the order of the times; so a key is forgotten in other
// seeds than those where a message may be read again. No claim is to expire meanwhile, and of a
// table alone is it seen which claims are gone.
void use_operators(Draws& draws, Plan& plan) {
    plan.trial = Trial::operators;
    stretch(plan, operators_phase);
    plan.ledger.retention = milliseconds(600'000);
    const auto place = [&](FaultKind kind, std::pair<int, int> at, std::pair<int, int> lasts) {
        plan.faults.push_back(fault(draws, kind, at, lasts));
    };
    place(FaultKind::operator_pause, {800, 9000}, {500, 2500});
    place(FaultKind::operator_retire, {800, 9000}, {200, 1500});
    place(FaultKind::operator_import, {800, 5000}, {100, 100});
    place(FaultKind::migrate_again, {1000, 12'000}, {100, 100});
    // Listed as the last one: what it does follows the verdict (recreated_topic.h).
    place(FaultKind::recreate_topic, {13'998, 13'999}, {100, 100});
    if (draws.percent(50)) {
        plan.ledger.log = false;
        place(FaultKind::operator_skip, {1000, 6000}, {100, 100});
        for (int i = 0; i < 4; ++i) place(FaultKind::operator_forget, {1500, 10'000}, {100, 100});
        return;
    }
    place(FaultKind::operator_forward, {1000, 6000}, {100, 100});
    for (int i = 0; i < 2; ++i) place(FaultKind::operator_back, {2500, 11'000}, {100, 100});
    place(FaultKind::operator_replay, {4000, 11'000}, {100, 900});
    place(FaultKind::operator_redrive, {4000, 11'000}, {200, 1200});
}

// How long another topic makes no progress is judged, so that what stops all of them is left out.
void use_trouble(Draws& draws, Plan& plan) {
    plan.trial = Trial::trouble;
    std::erase_if(plan.faults, [](const FaultPlan& fault) {
        switch (fault.kind) {
            case FaultKind::kill_outside:
            case FaultKind::terminate:
            case FaultKind::churn:
            case FaultKind::commit_cut_before:
            case FaultKind::commit_cut_after:
            case FaultKind::kafka_cut:
            case FaultKind::postgres_cut:
            case FaultKind::terminate_backend: return false;
            default: return true;
        }
    });
    if (plan.faults.size() > faults_beside_trouble) plan.faults.resize(faults_beside_trouble);
    stretch(plan, trouble_phase);
    const std::array kinds{FaultKind::trouble_lock, FaultKind::trouble_rights,
                           FaultKind::trouble_retry};
    plan.faults.push_back(
        fault(draws, kinds[draws.below(kinds.size())], {2500, 4500}, {13'000, 16'000}));
}

// Such a ledger is of one topic, and a key comes in one partition alone.
void use_reach(Draws& draws, Plan& plan) {
    plan.trial = Trial::reach;
    plan.ledger.log = true;
    plan.ledger.per_partition = true;
    plan.workload.one_operation = false;
    std::erase_if(plan.faults, [](const FaultPlan& fault) {
        return fault.kind == FaultKind::add_partitions;
    });
    if (!draws.percent(75)) return;
    // A worker that takes nothing over must notice as well: from then on nobody joins or leaves,
    // and a rebalance leaves its partitions to each.
    plan.fleet.assignor = Assignor::cooperative;
    plan.fleet.static_members = false;
    plan.fleet.processes = std::max(plan.fleet.processes, 2);
    stretch(plan, reach_phase);
    const FaultPlan added =
        fault(draws, FaultKind::added_beside_reach, {3500, 7000}, {100, 100});
    std::erase_if(plan.faults, [&](const FaultPlan& fault) {
        return fault.at + last_rebalance > added.at || fault.kind == FaultKind::broker_kill;
    });
    plan.faults.push_back(added);
}

void use_group_errors(Draws& draws, Plan& plan) {
    plan.trial = Trial::group_errors;
    const auto times = draws.between(6, 12);
    for (std::int64_t i = 0; i < times; ++i) {
        plan.faults.push_back(fault(draws, FaultKind::commit_error, {500, 8500}, {300, 1200}));
        plan.faults.push_back(fault(draws, FaultKind::group_error, {500, 8500}, {300, 1200}));
    }
}

// No claim may expire by a clock that is wrong by a day: that retention follows the server's clock
// is documented.
void use_clocks(Draws& draws, Plan& plan) {
    plan.trial = Trial::clocks;
    plan.ledger.retention = milliseconds(std::chrono::hours(240));
    for (int i = 0; i < 4; ++i)
        plan.faults.push_back(fault(draws, FaultKind::worker_clock_step, {500, 8500}, {100, 100}));
    for (int i = 0; i < 3; ++i)
        plan.faults.push_back(
            fault(draws, FaultKind::postgres_clock_step, {500, 8500}, {100, 100}));
}

// Brokers leave in order, one after another, as for an upgrade; the first one stays, through which
// the workers come in.
void use_leader_moves(Draws& draws, Plan& plan) {
    plan.trial = Trial::leader_moves;
    plan.brokers = 3;
    plan.workload.transactions = 70;
    plan.workload.aborted = std::max(plan.workload.aborted, 25);
    stretch(plan, leader_moves_phase);
    std::erase_if(plan.faults, [](const FaultPlan& fault) {
        return fault.kind == FaultKind::broker_kill || fault.kind == FaultKind::broker_freeze;
    });
    for (const int begin : {2000, 8000, 14'000, 20'000})
        plan.faults.push_back(
            fault(draws, FaultKind::leader_move, {begin, begin + 2000}, {200, 1500}));
}

void use_fail_over(Draws& draws, Plan& plan) {
    plan.standby = true;
    std::erase_if(plan.faults, [](const FaultPlan& fault) {
        return fault.kind == FaultKind::postgres_stop || fault.kind == FaultKind::postgres_kill;
    });
    plan.faults.push_back(fault(draws, FaultKind::fail_over, {1500, 7500}, {400, 1500}));
}

}  // namespace

void draw_trial(Draws draws, Plan& plan) {
    const auto number = draws.below(100);
    if (plan.standby) return;
    if (number < 7 && has_tables(plan)) {
        use_schema_changes(draws, plan);
    } else if (number >= 7 && number < 13 && has_tables(plan)) {
        use_own_codes(draws, plan);
    } else if (number >= 13 && number < 18 && plan.outside != Outside::webhook) {
        use_full_disk(draws, plan);
    } else if (number >= 18 && number < 24) {
        use_restore(draws, plan);
    } else if (number >= 24 && number < 36 && plan.outside == Outside::nothing) {
        use_operators(draws, plan);
    } else if (number >= 36 && number < 60 && !has_tables(plan)) {
        // A success that the fail-over loses is one that nothing is found of: the judge is told
        // which time was lost.
        use_fail_over(draws, plan);
    } else if (number >= 36 && number < 50 && plan.workload.topics.size() > 1) {
        use_trouble(draws, plan);
    } else if (number >= 50 && number < 64 && plan.outside == Outside::nothing) {
        use_reach(draws, plan);
    } else if (number >= 64 && number < 72) {
        use_group_errors(draws, plan);
    } else if (number >= 72 && number < 78 && has_tables(plan)) {
        use_clocks(draws, plan);
    } else if (number >= 78 && number < 82 && has_tables(plan)) {
        use_leader_moves(draws, plan);
    }
}

// The segments of generations that begin within `rotate_after` may merge. Where the claims of
// operators' commands are judged it matters which generation has gone.
void draw_store(Draws draws, Plan& plan) {
    if (plan.outside == Outside::webhook || plan.ledger.per_partition ||
        plan.trial == Trial::operators) {
        return;
    }
    if (plan.ledger.log) {
        if (plan.ledger.retention < never_late || !draws.percent(60)) return;
        stretch(plan, std::max(plan.fault_phase, merging_phase));
        plan.ledger.rotate_after = merged_within;
        plan.ledger.rotate_claims = fewest_claims;
        if (plan.outside != Outside::nothing || plan.trial != Trial::nothing) return;
        // Enough claims for several generations, in one ledger.
        plan.workload.one_operation = plan.workload.topics.size() > 1;
        plan.workload.messages = std::max(plan.workload.messages, most_messages);
        return;
    }
    if (!draws.percent(60)) return;
    plan.ledger.converts = true;
    const int last = static_cast<int>(plan.fault_phase.count()) * 2 / 3;
    plan.faults.push_back(fault(draws, FaultKind::operator_convert, {1000, last}, {0, 400}));
}

}  // namespace onceward::campaign
