#include "tests/faults/campaign/plan.h"

#include <algorithm>

#include "tests/faults/campaign/draws.h"
#include "tests/faults/step_names.h"

namespace onceward::campaign {
namespace {

constexpr milliseconds fault_phase{9000};
constexpr milliseconds first_fault{300};  // the fleet has begun to join by then
// How many times fewer messages there are where each is dearer, or is not alone.
constexpr int calls_are_dearer = 6;
constexpr int records_are_dearer = 2;
constexpr int requests_come_beside = 4;

template <class Value>
Value one_of(Draws& draws, std::initializer_list<std::pair<Value, int>> choices) {
    std::vector<int> weights;
    for (const auto& [value, weight] : choices) weights.push_back(weight);
    return (choices.begin() + static_cast<std::ptrdiff_t>(draws.weighted(weights)))->first;
}

int number(Draws& draws, int low, int high) { return static_cast<int>(draws.between(low, high)); }

TopicPlan draw_topic(Draws& draws, KeyPlace key) {
    TopicPlan topic;
    topic.partitions = number(draws, 1, 6);
    topic.format = one_of<PayloadFormat>(
        draws, {{PayloadFormat::json, 5}, {PayloadFormat::protobuf, 3}, {PayloadFormat::raw, 2}});
    // There are no fields in raw bytes.
    if (key == KeyPlace::field && topic.format == PayloadFormat::raw)
        topic.format = PayloadFormat::json;
    topic.on_missing =
        one_of<Policy>(draws, {{Policy::reject, 4}, {Policy::derive, 1}, {Policy::skip, 2}});
    topic.tombstones = one_of<Policy>(draws, {{Policy::reject, 2}, {Policy::skip, 1}});
    topic.unnest = draws.percent(25);
    return topic;
}

WorkloadPlan draw_workload(Draws draws) {
    WorkloadPlan workload;
    workload.key = one_of<KeyPlace>(
        draws, {{KeyPlace::header, 5}, {KeyPlace::record_key, 2}, {KeyPlace::field, 2}});
    const int topics = one_of<int>(draws, {{1, 5}, {2, 3}, {3, 2}});
    for (int topic = 0; topic < topics; ++topic)
        workload.topics.push_back(draw_topic(draws, workload.key));
    workload.one_operation = topics > 1 && draws.percent(60);
    workload.repeats = one_of<Repeats>(
        draws,
        {{Repeats::any, 4}, {Repeats::hot, 2}, {Repeats::recent, 3}, {Repeats::mirrored, 3}});
    workload.messages = number(draws, 8, 18) * 1000;
    workload.portion = number(draws, 20, 300);
    workload.repeated = one_of<int>(draws, {{20, 1}, {100, 3}, {250, 3}, {600, 1}});
    workload.undecodable = one_of<int>(draws, {{0, 2}, {2, 3}, {10, 2}, {40, 1}});
    workload.keyless = one_of<int>(draws, {{0, 2}, {3, 2}, {10, 1}});
    workload.tombstones = one_of<int>(draws, {{0, 2}, {3, 2}, {20, 1}});
    workload.transactions = one_of<int>(draws, {{0, 5}, {30, 3}, {100, 1}});
    workload.aborted = one_of<int>(draws, {{0, 1}, {20, 2}, {50, 1}});
    return workload;
}

// `recent`: keys come again soon or never, so that generations may expire meanwhile.
LedgerPlan draw_ledger(Draws draws, bool recent) {
    LedgerPlan ledger;
    // Most are longer than a seed sends: a duplicate is never too late.
    const bool expires = recent && draws.percent(70);
    ledger.retention = milliseconds(expires ? 3000 : 30'000);
    ledger.rotate_after =
        milliseconds(expires ? 600 : one_of<int>(draws, {{1000, 3}, {2500, 3}, {10'000, 1}}));
    ledger.rotate_claims = one_of<int>(draws, {{1000, 1}, {2000, 2}, {1'000'000, 2}});
    // Last, so that the rest of a seed is what it was with tables alone.
    ledger.log = draws.percent(60);
    return ledger;
}

FleetPlan draw_fleet(Draws draws) {
    FleetPlan fleet;
    fleet.processes = one_of<int>(draws, {{1, 1}, {2, 3}, {3, 4}, {4, 2}, {5, 1}, {6, 1}});
    fleet.workers = one_of<int>(draws, {{1, 4}, {2, 1}});
    fleet.assignor = one_of<Assignor>(
        draws,
        {{Assignor::eager, 4}, {Assignor::cooperative, 4}, {Assignor::consumer_protocol, 2}});
    fleet.static_members = draws.percent(30);
    // Refused by `check`: such a rebalance may end with partitions that are nobody's.
    if (fleet.static_members && fleet.assignor == Assignor::cooperative) {
        fleet.assignor = Assignor::eager;
    }
    fleet.batch_messages = one_of<int>(draws, {{50, 2}, {100, 3}, {500, 3}, {5000, 2}});
    return fleet;
}

milliseconds draw_length(Draws& draws, FaultKind kind) {
    switch (kind) {
        case FaultKind::kill_outside:
        case FaultKind::kill_at_step:
        case FaultKind::terminate: return milliseconds(draws.between(0, 400));
        // A session ends after 1 s, a poll must come every 2 s.
        case FaultKind::freeze:
        case FaultKind::freeze_at_step: return milliseconds(draws.between(200, 3200));
        case FaultKind::churn: return milliseconds(draws.between(300, 2000));
        case FaultKind::broker_kill: return milliseconds(draws.between(0, 500));
        case FaultKind::broker_freeze: return milliseconds(draws.between(200, 1500));
        case FaultKind::postgres_stop:
        case FaultKind::postgres_kill: return milliseconds(draws.between(0, 700));
        case FaultKind::kafka_black_hole:
        case FaultKind::postgres_black_hole: return milliseconds(draws.between(200, 1200));
        case FaultKind::commit_hole_before:
        case FaultKind::commit_hole_after: return milliseconds(draws.between(400, 2000));
        case FaultKind::kafka_latency:
        case FaultKind::kafka_bandwidth:
        case FaultKind::postgres_latency:
        case FaultKind::postgres_bandwidth: return milliseconds(draws.between(300, 1200));
        case FaultKind::table_lock:
        case FaultKind::fence_lock: return milliseconds(draws.between(100, 1600));
        case FaultKind::read_only:
        case FaultKind::connections_full: return milliseconds(draws.between(300, 1000));
        case FaultKind::fail_over: return milliseconds(draws.between(400, 1500));
        case FaultKind::commit_cut_before:
        case FaultKind::commit_cut_inside_request:
        case FaultKind::commit_cut_after:
        case FaultKind::commit_cut_inside_answer: return milliseconds(2500);
        case FaultKind::kafka_byte_cut:
        case FaultKind::postgres_byte_cut: return milliseconds(draws.between(150, 500));
        case FaultKind::kafka_cut:
        case FaultKind::postgres_cut:
        case FaultKind::foreign_commit:
        case FaultKind::add_partitions:
        case FaultKind::trim:
        case FaultKind::terminate_backend: return milliseconds(100);
        case FaultKind::long_table_lock:
        case FaultKind::create_index:
        case FaultKind::add_column:
        case FaultKind::alter_column_type:
        case FaultKind::disk_full:
        case FaultKind::restore:
        case FaultKind::operator_pause:
        case FaultKind::operator_skip:
        case FaultKind::operator_forward:
        case FaultKind::operator_back:
        case FaultKind::operator_retire:
        case FaultKind::operator_import:
        case FaultKind::operator_forget:
        case FaultKind::operator_replay:
        case FaultKind::operator_redrive:
        case FaultKind::operator_convert:
        case FaultKind::migrate_again:
        case FaultKind::trouble_lock:
        case FaultKind::trouble_rights:
        case FaultKind::trouble_retry:
        case FaultKind::commit_error:
        case FaultKind::group_error:
        case FaultKind::worker_clock_step:
        case FaultKind::postgres_clock_step:
        case FaultKind::leader_move:
        case FaultKind::added_beside_reach:
        case FaultKind::recreate_topic: break;  // plan_trials.cc
    }
    return milliseconds(0);
}

std::uint32_t draw_amount(Draws& draws, FaultKind kind) {
    switch (kind) {
        case FaultKind::kill_at_step:
        case FaultKind::freeze_at_step: return static_cast<std::uint32_t>(draws.between(1, 4));
        case FaultKind::kafka_latency: return static_cast<std::uint32_t>(draws.between(20, 300));
        case FaultKind::postgres_latency: return static_cast<std::uint32_t>(draws.between(5, 60));
        case FaultKind::kafka_bandwidth:
        case FaultKind::postgres_bandwidth:
            return static_cast<std::uint32_t>(draws.between(20'000, 200'000));
        case FaultKind::kafka_byte_cut:
        case FaultKind::postgres_byte_cut:
            return static_cast<std::uint32_t>(draws.between(1, 1 << draws.between(4, 15)));
        case FaultKind::kill_outside:
        case FaultKind::freeze:
        case FaultKind::terminate:
        case FaultKind::churn:
        case FaultKind::broker_kill:
        case FaultKind::broker_freeze:
        case FaultKind::kafka_cut:
        case FaultKind::kafka_black_hole:
        case FaultKind::foreign_commit:
        case FaultKind::add_partitions:
        case FaultKind::trim:
        case FaultKind::postgres_stop:
        case FaultKind::postgres_kill:
        case FaultKind::commit_cut_before:
        case FaultKind::commit_cut_inside_request:
        case FaultKind::commit_cut_after:
        case FaultKind::commit_cut_inside_answer:
        case FaultKind::commit_hole_before:
        case FaultKind::commit_hole_after:
        case FaultKind::postgres_cut:
        case FaultKind::postgres_black_hole:
        case FaultKind::table_lock:
        case FaultKind::fence_lock:
        case FaultKind::terminate_backend:
        case FaultKind::read_only:
        case FaultKind::connections_full:
        case FaultKind::fail_over:
        case FaultKind::long_table_lock:
        case FaultKind::create_index:
        case FaultKind::add_column:
        case FaultKind::alter_column_type:
        case FaultKind::disk_full:
        case FaultKind::restore:
        case FaultKind::operator_pause:
        case FaultKind::operator_skip:
        case FaultKind::operator_forward:
        case FaultKind::operator_back:
        case FaultKind::operator_retire:
        case FaultKind::operator_import:
        case FaultKind::operator_forget:
        case FaultKind::operator_replay:
        case FaultKind::operator_redrive:
        case FaultKind::operator_convert:
        case FaultKind::migrate_again:
        case FaultKind::trouble_lock:
        case FaultKind::trouble_rights:
        case FaultKind::trouble_retry:
        case FaultKind::commit_error:
        case FaultKind::group_error:
        case FaultKind::worker_clock_step:
        case FaultKind::postgres_clock_step:
        case FaultKind::leader_move:
        case FaultKind::added_beside_reach:
        case FaultKind::recreate_topic: break;
    }
    return static_cast<std::uint32_t>(draws.between(1, 3));
}

FaultPlan draw_fault(Draws& draws, FaultKind kind, milliseconds phase) {
    FaultPlan fault;
    fault.kind = kind;
    fault.at = milliseconds(draws.between(first_fault.count(), phase.count() - 200));
    fault.lasts = draw_length(draws, kind);
    fault.target = static_cast<std::uint32_t>(draws.below(1'000'000));
    fault.amount = draw_amount(draws, kind);
    fault.step = named_steps[draws.below(named_steps.size())].second;
    return fault;
}

// As many portions over the same time.
void fewer_messages(WorkloadPlan& workload, int times) {
    workload.messages /= times;
    workload.portion = std::max(1, workload.portion / times);
}

// Kills between Kafka's answer and the row's end, which only the relay that leads comes by.
void use_outbox(Draws& draws, Plan& plan) {
    plan.outside = Outside::outbox;
    fewer_messages(plan.workload, records_are_dearer);
    const auto kills = draws.between(2, 5);
    for (std::int64_t i = 0; i < kills; ++i) {
        FaultPlan fault = draw_fault(draws, FaultKind::kill_at_step, plan.fault_phase);
        fault.step = Step::before_outbox_delete;
        plan.faults.push_back(fault);
    }
}

// A call takes longer than a row does, and what has ended is to be there when it is judged.
void use_webhook(Plan& plan) {
    plan.outside = Outside::webhook;
    fewer_messages(plan.workload, calls_are_dearer);
    plan.ledger = {.retention = milliseconds(600'000),
                   .rotate_after = milliseconds(75'000),
                   .rotate_claims = 1'000'000};
}

// Together with fewer messages. Each process has about twice the sessions of one without routes,
// and one alone would leave nobody to send a request to again.
void use_http(Draws& draws, Plan& plan) {
    plan.outside = Outside::http;
    fewer_messages(plan.workload, requests_come_beside);
    plan.fleet.processes = std::clamp(plan.fleet.processes, 2, 3);
    plan.requests.clients = number(draws, 3, 5);
    plan.requests.shared = one_of<int>(draws, {{15, 1}, {35, 2}, {60, 1}});
    plan.requests.other_bodies = one_of<int>(draws, {{5, 1}, {15, 2}, {30, 1}});
    const auto kills = draws.between(2, 5);
    for (std::int64_t i = 0; i < kills; ++i) {
        FaultPlan fault = draw_fault(draws, FaultKind::kill_at_step, plan.fault_phase);
        fault.step = request_steps[draws.below(request_steps.size())];
        plan.faults.push_back(fault);
    }
}

// From a stream of its own: a seed that draws none of it is what it was before.
void draw_outside(Draws draws, Plan& plan) {
    if (draws.percent(25)) {
        use_outbox(draws, plan);
    } else if (draws.percent(22) && !plan.standby) {
        // A fail-over that loses how calls have ended has them made again, as it must. That would
        // hide those that must not be.
        use_webhook(plan);
    } else if (draws.percent(35) && !plan.standby) {
        // The same: a success that the fail-over has lost is one that nothing is found of.
        use_http(draws, plan);
    }
}

}  // namespace

Plan draw_plan(std::uint64_t seed) {
    const Draws root(seed);
    Plan plan;
    plan.seed = seed;
    plan.workload = draw_workload(root.branch("workload"));
    plan.ledger = draw_ledger(root.branch("ledger"), plan.workload.repeats == Repeats::recent);
    plan.fleet = draw_fleet(root.branch("fleet"));
    plan.fault_phase = fault_phase;
    // A refused row has a batch done again in parts, message by message in the end: in large ones
    // that alone would take longer than the seed may.
    Draws refusals = root.branch("refusals");
    if (plan.fleet.batch_messages <= 100) {
        plan.workload.refused = one_of<int>(refusals, {{0, 1}, {1, 2}, {5, 1}});
    } else if (plan.fleet.batch_messages <= 500) {
        plan.workload.refused = one_of<int>(refusals, {{0, 1}, {1, 1}});
    }

    Draws draws = root.branch("faults");
    std::vector<int> weights;
    for (const FaultName& fault : fault_names) weights.push_back(fault.weight);
    const auto drawn = draws.between(32, 44);
    for (std::int64_t i = 0; i < drawn; ++i) {
        const FaultKind kind = fault_names[draws.weighted(weights)].kind;
        plan.faults.push_back(draw_fault(draws, kind, fault_phase));
    }
    // What takes seconds, or can be done once only.
    const auto place = [&](FaultKind kind, int percent) {
        if (draws.percent(percent)) plan.faults.push_back(draw_fault(draws, kind, fault_phase));
    };
    place(FaultKind::add_partitions, 25);
    place(FaultKind::broker_kill, 10);
    plan.standby = draws.percent(12);
    if (plan.standby) {
        place(FaultKind::fail_over, 100);
    } else {
        place(FaultKind::postgres_stop, 30);
        place(FaultKind::postgres_kill, 30);
    }
    draw_outside(root.branch("beyond the tables"), plan);
    draw_trial(root.branch("trials"), plan);
    draw_store(root.branch("stores"), plan);
    std::stable_sort(
        plan.faults.begin(), plan.faults.end(),
        [](const FaultPlan& left, const FaultPlan& right) { return left.at < right.at; });
    return plan;
}

}  // namespace onceward::campaign
