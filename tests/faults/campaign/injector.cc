#include "tests/faults/campaign/injector.h"

#include <algorithm>
#include <stdexcept>

#include "tests/support/eventually.h"

namespace onceward::campaign {

using namespace std::chrono_literals;
using support::CommitFault;

Injector::Injector(Parts parts) : parts_(std::move(parts)) {
    operator_ = operator_of(parts_.names);
    parts_.stage.postgres_proxy().on_commit(
        [commits = commits_](const support::ProxiedCommit& commit) {
            return commits->next(commit.application_name);
        });
    parts_.stage.kafka_proxy().on_answer(
        [answers = answers_](support::GroupRequest request) { return answers->next(request); });
}

Injector::~Injector() {
    parts_.stage.postgres_proxy().on_commit({});
    parts_.stage.kafka_proxy().on_answer({});
}

void Injector::begin(const FaultPlan& fault) {
    try {
        dispatch(fault);
    } catch (const std::exception& error) {
        parts_.tally.nothing(fault.kind, error.what());
    }
}

void Injector::go_on(const FaultPlan& fault, std::function<void()> over,
                     std::function<void()> look) {
    parts_.tally.write(std::string(name_of(fault.kind)) + " begins, for " +
                       std::to_string(fault.lasts.count()) + " ms");
    ongoing_.push_back({fault, Clock::now() + fault.lasts, std::move(look), std::move(over)});
}

void Injector::count(const FaultPlan& fault, bool took_effect, const std::string& otherwise) {
    if (took_effect) {
        parts_.tally.count(fault.kind);
    } else {
        parts_.tally.nothing(fault.kind, otherwise);
    }
}

void Injector::advance() {
    for (std::size_t i = 0; i < ongoing_.size();) {
        try {
            if (ongoing_[i].look) ongoing_[i].look();
        } catch (const std::exception&) {
            // A look that cannot be had, such as at a server that is down, says nothing.
        }
        if (ongoing_[i].end > Clock::now()) {
            ++i;
            continue;
        }
        const Ongoing done = std::move(ongoing_[i]);
        ongoing_.erase(ongoing_.begin() + static_cast<std::ptrdiff_t>(i));
        try {
            done.over();
        } catch (const std::exception& error) {
            parts_.tally.nothing(done.fault.kind, error.what());
        }
    }
}

void Injector::finish() {
    while (!ongoing_.empty()) {
        for (Ongoing& ongoing : ongoing_) ongoing.end = Clock::now();
        advance();
    }
    strangers_.clear();  // joined
    for (const auto& [fault, done] : by_strangers_)
        count(fault, *done, "the stranger was not let to do it, or has not finished it");
    by_strangers_.clear();
}

bool Injector::another_is_on(FaultKind kind) const {
    return std::any_of(ongoing_.begin(), ongoing_.end(),
                       [&](const Ongoing& ongoing) { return ongoing.fault.kind == kind; });
}

std::unique_ptr<support::Database> Injector::session() {
    if (!parts_.stage.postgres().running()) throw std::runtime_error("the server is down");
    return std::make_unique<support::Database>(
        parts_.stage.direct_dsn() +
        " connect_timeout=2 options='-c default_transaction_read_only=off -c lock_timeout=1s"
        " -c statement_timeout=3s'");
}

void Injector::dispatch(const FaultPlan& fault) {
    switch (fault.kind) {
        case FaultKind::kill_outside:
        case FaultKind::kill_at_step:
        case FaultKind::freeze_at_step: return kill_worker(fault);
        case FaultKind::freeze: return freeze_worker(fault);
        case FaultKind::terminate: return terminate_worker(fault);
        case FaultKind::churn: return churn(fault);
        case FaultKind::broker_kill: return kill_broker(fault);
        case FaultKind::broker_freeze: return freeze_broker(fault);
        case FaultKind::kafka_cut: return cut(fault, parts_.stage.kafka_proxy());
        case FaultKind::kafka_byte_cut: return byte_cut(fault, parts_.stage.kafka_proxy());
        case FaultKind::kafka_black_hole: return black_hole(fault, parts_.stage.kafka_proxy());
        case FaultKind::kafka_latency:
        case FaultKind::kafka_bandwidth: return slow_down(fault, parts_.stage.kafka_proxy());
        case FaultKind::foreign_commit: return commit_as_stranger(fault);
        case FaultKind::add_partitions: return add_partitions(fault);
        case FaultKind::trim: return trim(fault);
        case FaultKind::postgres_stop:
        case FaultKind::postgres_kill: return stop_postgres(fault);
        case FaultKind::commit_cut_before: return at_commits(fault, CommitFault::cut_before);
        case FaultKind::commit_cut_inside_request:
            return at_commits(fault, CommitFault::cut_inside_request);
        case FaultKind::commit_cut_after: return at_commits(fault, CommitFault::cut_after);
        case FaultKind::commit_cut_inside_answer:
            return at_commits(fault, CommitFault::cut_inside_answer);
        case FaultKind::commit_hole_before: return at_commits(fault, CommitFault::hole_before);
        case FaultKind::commit_hole_after: return at_commits(fault, CommitFault::hole_after);
        case FaultKind::postgres_cut: return cut(fault, parts_.stage.postgres_proxy());
        case FaultKind::postgres_byte_cut: return byte_cut(fault, parts_.stage.postgres_proxy());
        case FaultKind::postgres_black_hole:
            return black_hole(fault, parts_.stage.postgres_proxy());
        case FaultKind::postgres_latency:
        case FaultKind::postgres_bandwidth: return slow_down(fault, parts_.stage.postgres_proxy());
        case FaultKind::table_lock: return lock_table(fault);
        case FaultKind::fence_lock: return lock_fences(fault);
        case FaultKind::terminate_backend: return terminate_backends(fault);
        case FaultKind::read_only: return make_read_only(fault);
        case FaultKind::connections_full: return fill_connections(fault);
        case FaultKind::fail_over: return fail_over(fault);
        case FaultKind::long_table_lock: return lock_table_for_long(fault);
        case FaultKind::create_index:
        case FaultKind::add_column:
        case FaultKind::alter_column_type: return change_table(fault);
        case FaultKind::disk_full: return fill_disk(fault);
        case FaultKind::restore: return restore_server(fault);
        case FaultKind::operator_pause:
        case FaultKind::operator_skip:
        case FaultKind::operator_forward:
        case FaultKind::operator_back:
        case FaultKind::operator_retire:
        case FaultKind::operator_import:
        case FaultKind::operator_forget:
        case FaultKind::operator_replay:
        case FaultKind::operator_redrive:
        case FaultKind::operator_convert: return command(fault);
        case FaultKind::migrate_again: return migrate_again(fault);
        case FaultKind::commit_error:
        case FaultKind::group_error: return change_answers(fault);
        case FaultKind::worker_clock_step:
        case FaultKind::postgres_clock_step: return step_clock(fault);
        case FaultKind::leader_move: return move_leaders(fault);
        case FaultKind::trouble_lock:
        case FaultKind::trouble_rights:
        case FaultKind::trouble_retry: return trouble_one_topic(fault);
        case FaultKind::added_beside_reach: return add_partitions_beside_reach(fault);
        case FaultKind::recreate_topic: return;  // after the verdict
    }
}

void Injector::kill_worker(const FaultPlan& fault) {
    // A fault point needs a program of its own: the worker there is killed first.
    Fleet& fleet = parts_.fleet;
    const int leader = fault.step == Step::before_outbox_delete ? leading_slot() : -1;
    const int slot = leader >= 0 ? leader : fleet.free_slot(fault.target);
    if (slot < 0 || !fleet.kill_now(slot)) {
        parts_.tally.nothing(FaultKind::kill_outside, "no worker to kill");
        return;
    }
    parts_.tally.count(FaultKind::kill_outside);
    if (fault.kind == FaultKind::kill_outside) {
        fleet.start_later(slot, fault.lasts);
    } else {
        fleet.start_faulty_later(slot, fault, 0ms);
    }
}

// The slot of the worker whose relay leads, if nothing is done to it: only that one comes by the
// relay's step. A worker that takes its place tries to lead at once, the others every 2 s.
int Injector::leading_slot() try {
    const std::string leader = session()->value(
        "SELECT coalesce(max(application_name), '') FROM pg_stat_activity JOIN pg_locks USING (pid)"
        " WHERE locktype = 'advisory' AND granted AND application_name LIKE '% outbox'");
    for (int slot = 0; slot < parts_.plan.fleet.processes; ++slot) {
        if (leader == Names::worker(slot) + " outbox" && parts_.fleet.is_free(slot)) return slot;
    }
    return -1;
} catch (const std::exception&) {
    return -1;  // the server is down: any worker will do
}

void Injector::freeze_worker(const FaultPlan& fault) {
    const int slot = parts_.fleet.free_slot(fault.target);
    count(fault, slot >= 0 && parts_.fleet.freeze(slot, fault.lasts), "no worker to freeze");
}

void Injector::terminate_worker(const FaultPlan& fault) {
    const int slot = parts_.fleet.free_slot(fault.target);
    if (slot < 0 || !parts_.fleet.terminate(slot, FaultKind::terminate, true))
        parts_.tally.nothing(fault.kind, "no worker to stop");
}

void Injector::churn(const FaultPlan& fault) {
    // Slots beyond the fleet's own.
    const int slot = parts_.plan.fleet.processes + static_cast<int>(fault.target % guest_slots);
    if (!parts_.fleet.join(slot)) {
        parts_.tally.nothing(fault.kind, "that slot is taken");
        return;
    }
    go_on(fault, [this, slot, fault] {
        if (!parts_.fleet.terminate(slot, FaultKind::churn, false))
            parts_.tally.nothing(fault.kind, "it is gone already");
    });
}

}  // namespace onceward::campaign
