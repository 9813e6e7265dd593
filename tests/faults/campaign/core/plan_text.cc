#include <cstdlib>

#include "tests/faults/campaign/core/plan.h"

namespace onceward::campaign::core {

std::string_view to_text(FaultKind kind) {
    switch (kind) {
        case FaultKind::cut: return "cut";
        case FaultKind::commit_cut_before: return "commit_cut_before";
        case FaultKind::commit_cut_inside_request: return "commit_cut_inside_request";
        case FaultKind::commit_cut_after: return "commit_cut_after";
        case FaultKind::commit_cut_inside_answer: return "commit_cut_inside_answer";
        case FaultKind::cut_at_byte: return "cut_at_byte";
        case FaultKind::terminated: return "terminated";
        case FaultKind::killed: return "killed";
        case FaultKind::killed_left_open: return "killed_left_open";
        case FaultKind::frozen: return "frozen";
        case FaultKind::reassigned: return "reassigned";
        case FaultKind::stolen_fence: return "stolen_fence";
        case FaultKind::dropped_batch: return "dropped_batch";
        case FaultKind::swallowed_in_sink: return "swallowed_in_sink";
        case FaultKind::swallowed_at_commit: return "swallowed_at_commit";
        case FaultKind::passing_error: return "passing_error";
        case FaultKind::lock_time_out: return "lock_time_out";
        case FaultKind::server_killed: return "server_killed";
        case FaultKind::failed_over: return "failed_over";
    }
    std::abort();
}

std::string_view to_text(Step step) {
    switch (step) {
        case Step::before_begin: return "before_begin";
        case Step::after_fence: return "after_fence";
        case Step::after_claims: return "after_claims";
        case Step::after_sink: return "after_sink";
        case Step::before_commit: return "before_commit";
        case Step::sent_whole: return "sent_whole";
        case Step::after_commit: return "after_commit";
        case Step::after_offset: return "after_offset";
        case Step::in_rebalance: return "in_rebalance";
        case Step::before_take_over: return "before_take_over";
        case Step::after_take_over: return "after_take_over";
        case Step::before_outbox_delete: return "before_outbox_delete";
    }
    std::abort();
}

std::string_view to_text(ServerKind kind) {
    switch (kind) {
        case ServerKind::shared: return "shared";
        case ServerKind::mortal: return "mortal";
        case ServerKind::replicated: return "replicated";
    }
    std::abort();
}

std::string_view to_text(LedgerKind kind) {
    switch (kind) {
        case LedgerKind::table: return "table";
        case LedgerKind::log: return "log";
        case LedgerKind::log_in_one_process: return "log_in_one_process";
        case LedgerKind::log_of_partitions: return "log_of_partitions";
    }
    std::abort();
}

std::string to_text(const Plan& plan) {
    std::string text;
    const auto line = [&](const std::string& name, auto value) {
        text += name + " " + std::to_string(value) + "\n";
    };
    line("seed", plan.seed);
    text += "server " + std::string(to_text(plan.server)) + "\n";
    text += "ledger " + std::string(to_text(plan.ledger)) + "\n";
    line("partitions", plan.partitions);
    line("workers", plan.workers);
    line("messages", plan.messages);
    line("second_wave", plan.second_wave);
    line("duplicate_percent", plan.duplicate_percent);
    line("mirrored_percent", plan.mirrored_percent);
    line("nul_percent", plan.nul_percent);
    line("poison_per_10000", plan.poison_per_10000);
    line("rejected_per_10000", plan.rejected_per_10000);
    line("skipped_per_10000", plan.skipped_per_10000);
    line("gap_percent", plan.gap_percent);
    line("future_percent", plan.future_percent);
    line("fingerprints", plan.fingerprints ? 1 : 0);
    line("batch_messages", plan.batch_messages);
    line("at_once", plan.at_once ? 1 : 0);
    line("rotate_claims", plan.rotate_claims);
    line("converts_at", plan.converts_at);
    line("unowned_partition", plan.unowned_partition);
    for (const PlannedFault& fault : plan.faults) {
        text += "fault " + std::string(to_text(fault.kind)) + " worker " +
                std::to_string(fault.worker) + " batch " + std::to_string(fault.batch) + " step " +
                std::string(to_text(fault.step)) + " number " + std::to_string(fault.number) + "\n";
    }
    return text;
}

}  // namespace onceward::campaign::core
