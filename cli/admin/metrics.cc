#include <map>

#include "cli/admin/build_info.h"
#include "cli/admin/metric_families.h"
#include "cli/admin/verdicts.h"

namespace onceward {
namespace {

using Families = MetricFamilies;

double seconds(std::chrono::duration<double> duration) { return duration.count(); }

void add_outcomes(const Metrics& of, Metrics::Counter counter, const Totals& totals) {
    of.counters(counter, "outcome",
                {{"applied", totals.applied},
                 {"duplicate", totals.duplicates},
                 {"conflict", totals.conflicts},
                 {"dead_lettered", totals.dead_lettered},
                 {"skipped", totals.skipped}});
}

void add_counts(const Metrics& of, const WorkerCounts& counts) {
    for (const auto& [topic, totals] : counts.topics) {
        add_outcomes({of.families, {{"topic", topic}}}, "onceward_messages_total", totals);
    }
    for (const auto& [topic, latencies] : counts.latencies) {
        of.histogram("onceward_end_to_end_latency_seconds", latencies, {{"topic", topic}});
    }
    for (const auto& [topic, leases] : counts.leases) {
        const Metrics here{of.families, {{"topic", topic}}};
        here.counter("onceward_leases_taken_over_total", leases.taken_over);
        here.counter("onceward_leases_lost_total", leases.lost);
        here.counter("onceward_effects_again_total", leases.tried_again);
    }
    of.counter("onceward_messages_below_fence_total", counts.below_fence);
    of.counter("onceward_offsets_skipped_total", counts.offsets_skipped);
    of.counter("onceward_batches_total", counts.batches);
    of.histogram("onceward_batch_duration_seconds", counts.durations);
    for (std::size_t i = 0; i < counts.parts.size(); ++i) {
        const auto part = static_cast<TransactionPart>(i);
        of.histogram("onceward_batch_part_duration_seconds", counts.parts[i],
                     {{"part", std::string(to_text(part))}});
    }
    of.counters("onceward_round_trip_batches_total", "outcome",
                {{"landed", counts.round_trips.landed},
                 {"repeated", counts.round_trips.repeated}});
    of.counter("onceward_retries_total", counts.retries);
    of.counter("onceward_postgres_reconnects_total", counts.reconnects);
    of.counter("onceward_commits_in_doubt_total", counts.commits_in_doubt);
    of.counters("onceward_rebalances_total", "kind",
                {{"assigned", counts.rebalances.assigned},
                 {"revoked", counts.rebalances.revoked},
                 {"lost", counts.rebalances.lost}});
    of.counter("onceward_group_rejoins_total", counts.rejoins);
}

void add_worker(Families& families, const WorkerState& worker) {
    const Metrics of{families, {{"worker", std::to_string(worker.number)}}};
    const Worker::Status status = worker.status.value_or(Worker::Status{});
    of.gauge("onceward_worker_running", worker.status ? 1 : 0);
    of.gauge("onceward_postgres_connected", status.connected ? 1 : 0,
             {{"database", worker.database}});
    of.gauge("onceward_group_joined", status.joined ? 1 : 0);
    of.gauge("onceward_partitions_assigned", status.partitions);
    of.gauge("onceward_partitions_reading", status.reading);
}

void add_lag(Families& families, const std::vector<PartitionStatus>& partitions) {
    for (const PartitionStatus& status : partitions) {
        const Metrics of{families,
                         {{"topic", status.partition.topic},
                          {"partition", std::to_string(status.partition.partition.raw())}}};
        if (status.lag) of.gauge("onceward_lag_messages", *status.lag);
        of.gauge("onceward_lag_seconds", seconds(status.age));
        of.gauge("onceward_partition_stalled", status.stalled ? 1 : 0);
    }
}

// The inbox has no process: what it does is seen in its tables and locks.
void add_inbox(const Metrics& of, const LedgerView& ledger) {
    of.gauge("onceward_ledger_open_transactions", ledger.open_transactions);
    if (ledger.open_transactions == 0 || ledger.oldest_transaction) {
        of.gauge("onceward_ledger_open_transaction_seconds",
                 seconds(ledger.oldest_transaction.value_or(std::chrono::seconds(0))));
    }
    of.gauge("onceward_ledger_results_bytes", ledger.results_bytes);
    if (ledger.memory_begins) {
        of.gauge("onceward_ledger_memory_begins_timestamp_seconds", seconds(*ledger.memory_begins));
    }
}

void add_ledger(Families& families, const std::string& group, const LedgerView& ledger) {
    // A ledger that only the inbox feeds has `inbox` as its group, so that the group is the same in
    // the processes of all groups.
    const bool of_group = ledger.of_group || !ledger.has_inbox;
    const Metrics of{families, {{"group", of_group ? group : "inbox"}, {"ledger", ledger.name}}};
    of.gauge("onceward_ledger_generations", ledger.generations);
    of.gauge("onceward_ledger_claims", ledger.claims);
    of.gauge("onceward_ledger_bytes", ledger.bytes);
    of.gauge("onceward_ledger_retention_seconds", seconds(ledger.retention));
    of.gauge("onceward_ledger_oldest_seconds", seconds(ledger.oldest_age));
    of.gauge("onceward_ledger_held_back_seconds", seconds(ledger.held_back));
    // DANGER: do not give this metric for the group `inbox`. Alerts join requests to their group by
    // it, and fail if a process has it for two groups.
    if (of_group) of.gauge("onceward_ledger_takes_requests", ledger.takes_requests ? 1 : 0);
    if (ledger.has_inbox) add_inbox(of, ledger);
    if (ledger.store != "lease") return;
    const std::pair<const char*, std::int64_t> states[] = {{"held", ledger.leases_held},
                                                           {"waiting", ledger.leases_waiting}};
    for (const auto& [state, count] : states) {
        of.gauge("onceward_leases_in_flight", count, {{"state", state}});
    }
    of.gauge("onceward_lease_oldest_seconds", seconds(ledger.oldest_lease));
}

void add_retention(Families& families, const RetentionState& state) {
    const Metrics of{families, {{"database", state.database}}};
    const RetentionCounts& counts = state.counts;
    of.counter("onceward_retention_runs_total", counts.runs);
    of.counter("onceward_retention_failures_total", counts.failures);
    for (const auto& [ledger, looks] : counts.failed_ledgers) {
        of.counter("onceward_retention_ledger_failures_total", looks, {{"ledger", ledger}});
    }
    of.counter("onceward_retention_busy_total", counts.busy);
    of.counter("onceward_retention_seconds_total", counts.seconds);
    of.counters("onceward_retention_generations_total", "step",
                {{"rotated", counts.rotated},
                 {"sealed", counts.sealed},
                 {"merged", counts.merged},
                 {"expired", counts.expired}});
    of.counter("onceward_retention_leases_total", counts.leases);
    of.gauge("onceward_claims_memory_bytes", static_cast<std::int64_t>(state.claims_bytes));
    of.gauge("onceward_claims_memory_limit_bytes", static_cast<std::int64_t>(state.claims_limit));
    if (counts.last_success) {
        of.gauge("onceward_retention_last_success_timestamp_seconds",
                 seconds(counts.last_success->time_since_epoch()));
    }
}

void add_relay(Families& families, const RelayState& state) {
    const Metrics of{families, {{"database", state.database}}};
    const RelayCounts& counts = state.counts;
    const auto& [passing, record, topic] = counts.failed;
    of.gauge("onceward_outbox_leader", counts.leads ? 1 : 0);
    of.counter("onceward_outbox_sent_total", counts.sent);
    of.counters("onceward_outbox_failures_total", "kind",
                {{"passing", passing}, {"record", record}, {"topic", topic}});
    of.counter("onceward_outbox_restarts_total", counts.restarts);
    of.gauge("onceward_outbox_held_topics", counts.held_topics);
    of.gauge("onceward_outbox_held_keys", counts.held_keys);
}

void add_route(Families& families, const RouteTraffic& route) {
    const Metrics of{families, {{"route", route.route}}};
    for (const auto& [status, count] : route.statuses) {
        of.counter("onceward_http_requests_total", count, {{"status", std::to_string(status)}});
    }
    if (route.route.empty()) return;  // for no route at all
    of.counter("onceward_http_replayed_total", route.replayed);
    of.counter("onceward_http_seconds_total", route.times.sum);
    of.histogram("onceward_http_request_seconds", route.times);
    of.gauge("onceward_http_requests_under_way", route.under_way);
    of.counter("onceward_http_route_full_total", route.full);
}

void add_server(const Metrics& of, const ServerCounts& counts) {
    of.gauge("onceward_http_connections", counts.open);
    of.counter("onceward_http_connections_full_total", counts.full);
    of.counters("onceward_http_connections_closed_total", "reason",
                {{"idle", counts.closed_idle}, {"slow", counts.closed_slow}});
}

void add_durable(Families& families, const std::string& group, const DurableTotals& durable) {
    const Metrics of{families, {{"group", group}}};
    for (const auto& [topic, totals] : durable.topics) {
        add_outcomes({families, {{"group", group}, {"topic", topic}}},
                     "onceward_group_messages_total", totals);
    }
    if (durable.open_letters) {
        for (const auto& [topic, open] : *durable.open_letters) {
            const Metrics here{families, {{"group", group}, {"topic", topic}}};
            here.gauge("onceward_dead_letters_open", open.letters);
            here.gauge("onceward_dead_letters_oldest_seconds", open.oldest_seconds);
            for (const auto& [name, letters] : open.by_class) {
                here.gauge("onceward_dead_letters_open_by_class", letters, {{"class", name}});
            }
        }
    }
    for (const LedgerView& ledger : durable.ledgers) add_ledger(families, group, ledger);
    for (const auto& [ledger, holder] : durable.holders) {
        of.gauge("onceward_ledger_holder", 1,
                 {{"ledger", ledger},
                  {"holder", holder.group},
                  {"topic", holder.topic},
                  {"kind", holder.replay          ? "replay"
                           : holder.partition < 0 ? "partitions"
                                                  : "partition"}});
    }
    of.gauge("onceward_outbox_waiting", durable.outbox.waiting);
    of.gauge("onceward_outbox_oldest_seconds", durable.outbox.oldest_seconds);
    Metrics{families}.gauge("onceward_group_totals_timestamp_seconds",
                            seconds(durable.read_at.time_since_epoch()));
}

void add_registry(Families& families, const RegistryCounts& registry) {
    const Metrics of{families, {{"registry", registry.name}}};
    of.counters("onceward_registry_fetches_total", "outcome",
                {{"found", registry.fetches.found},
                 {"unknown", registry.fetches.unknown},
                 {"refused", registry.fetches.refused},
                 {"failed", registry.fetches.failed}});
    of.gauge("onceward_registry_schemas", registry.schemas);
    of.gauge("onceward_registry_schema_bytes", registry.bytes);
    of.gauge("onceward_registry_available", registry.trouble.empty() ? 1 : 0);
}

void add_traces(const Metrics& of, const TraceCounts& counts) {
    of.counters("onceward_trace_spans_total", "result",
                {{"exported", counts.exported},
                 {"dropped", counts.dropped},
                 {"failed", counts.failed}});
    of.gauge("onceward_trace_spans_waiting", counts.waiting);
}

void add_reloads(const Metrics& of, const ReloadState& reload) {
    of.counters("onceward_reloads_total", "result",
                {{"applied", reload.applied},
                 {"unchanged", reload.unchanged},
                 {"refused", reload.refused}});
    if (reload.last_success) {
        of.gauge("onceward_reload_last_success_timestamp_seconds",
                 seconds(reload.last_success->time_since_epoch()));
    }
}

// Every reason is there from the start, so that 0 differs from unknown.
void add_halted(Families& families, const std::string& topic,
                const std::vector<HaltedPartition>& all) {
    const Metrics of{families, {{"topic", topic}}};
    double lost = 0;
    std::map<HaltReason, int> reasons;
    for (const HaltedPartition& halted : all) {
        if (halted.partition.topic != topic) continue;
        ++reasons[halted.halt.reason];
        const auto& range = halted.halt.lost;
        if (range) lost += static_cast<double>(range->end.raw() - range->begin.raw());
    }
    for (int i = 0; i <= static_cast<int>(HaltReason::memory); ++i) {
        const auto reason = static_cast<HaltReason>(i);
        of.gauge("onceward_partitions_halted", reasons[reason],
                 {{"reason", std::string(to_text(reason))}});
    }
    of.gauge("onceward_offsets_lost", lost);
}

}  // namespace

std::string metrics_text(const ProcessStatus& process) {
    Families families;
    const Metrics of{families};
    WorkerCounts counts = process.of_ended_workers;
    std::vector<HaltedPartition> halted;
    std::map<std::string, int> paused;
    std::map<std::string, int> awaiting_schema;
    for (const WorkerState& worker : process.workers) {
        if (!worker.status) continue;
        counts += worker.status->counts;
        halted.insert(halted.end(), worker.status->halted.begin(), worker.status->halted.end());
        for (const auto& [partition, reason] : worker.status->paused) ++paused[partition.topic];
        for (const auto& [partition, reason] : worker.status->awaiting_schema) {
            ++awaiting_schema[partition.topic];
        }
    }
    // A process with a front door alone counts none of this, and 0 would be taken for an idle
    // worker.
    if (!process.workers.empty()) add_counts(of, counts);
    for (const WorkerState& worker : process.workers) add_worker(families, worker);
    for (const auto& [topic, totals] : counts.topics) {
        add_halted(families, topic, halted);
        of.gauge("onceward_partitions_paused", paused[topic], {{"topic", topic}});
        of.gauge("onceward_partitions_awaiting_schema", awaiting_schema[topic], {{"topic", topic}});
    }
    for (const WorkerState& worker : process.workers) {
        if (worker.status) add_lag(families, worker.status->lag);
    }
    for (const RetentionState& state : process.retention) add_retention(families, state);
    for (const RelayState& state : process.relays) add_relay(families, state);
    for (const RouteTraffic& route : process.routes) add_route(families, route);
    if (process.server) add_server(of, *process.server);
    for (const auto& [route, calls] : process.upstream_calls) {
        of.gauge("onceward_http_upstream_calls", calls, {{"route", route}});
    }
    if (process.front_door) {
        of.gauge("onceward_http_postgres_connected",
                 process.front_door->postgres_failure.empty() ? 1 : 0);
        for (const auto& [route, count] : process.front_door->timed_out) {
            of.counter("onceward_http_statement_timeouts_total", count, {{"route", route}});
        }
    }
    for (const RegistryCounts& registry : process.registries) add_registry(families, registry);
    if (process.traces) add_traces(of, *process.traces);
    if (process.durable) add_durable(families, process.group, *process.durable);
    if (process.reload) add_reloads(of, *process.reload);
    if (process.resident_bytes) of.gauge("process_resident_memory_bytes", *process.resident_bytes);
    if (process.memory_budget) of.gauge("onceward_memory_budget_bytes", *process.memory_budget);
    of.gauge("process_start_time_seconds", seconds(process.started.time_since_epoch()));
    const BuildInfo build = build_info();
    of.gauge("onceward_build_info", 1,
             {{"version", build.version},
              {"revision", build.revision},
              {"compiler", build.compiler}});
    return families.text();
}

}  // namespace onceward
