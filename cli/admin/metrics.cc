#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <map>

#include "cli/admin/reload_metrics.h"
#include "cli/admin/verdicts.h"

namespace onceward {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

double seconds(std::chrono::duration<double> duration) { return duration.count(); }

class Families {
  public:
    void add(const std::string& name, const std::string& help, MetricType type,
             ClientMetric metric) {
        const auto [found, is_new] = places_.emplace(name, families_.size());
        if (is_new) families_.push_back({name, help, type, {}});
        families_[found->second].metric.push_back(std::move(metric));
    }
    std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

  private:
    std::vector<MetricFamily> families_;
    std::map<std::string, std::size_t> places_;
};

// The metrics of one thing: each has these labels, and some have more. It borrows the families.
struct Metrics {
    Families& families;
    Labels labels{};

    template <class Number>
    void counter(const std::string& name, const std::string& help, Number value,
                 const Labels& more = {}) const {
        ClientMetric metric = labelled(more);
        metric.counter.value = static_cast<double>(value);
        families.add(name, help, MetricType::Counter, std::move(metric));
    }
    // One for each value of another label.
    void counters(const std::string& name, const std::string& help, const std::string& label,
                  std::initializer_list<std::pair<const char*, std::int64_t>> values) const {
        for (const auto& [value, count] : values) counter(name, help, count, {{label, value}});
    }
    template <class Number>
    void gauge(const std::string& name, const std::string& help, Number value,
               const Labels& more = {}) const {
        ClientMetric metric = labelled(more);
        metric.gauge.value = static_cast<double>(value);
        families.add(name, help, MetricType::Gauge, std::move(metric));
    }
    template <class Histogram>
    void histogram(const std::string& name, const std::string& help,
                   const Histogram& durations) const {
        ClientMetric metric = labelled({});
        std::uint64_t count = 0;
        for (std::size_t i = 0; i < durations.counts.size(); ++i) {
            count += static_cast<std::uint64_t>(durations.counts[i]);
            const bool last = i == Histogram::bounds.size();
            metric.histogram.bucket.push_back(
                {count, last ? std::numeric_limits<double>::infinity() : Histogram::bounds[i]});
        }
        metric.histogram.sample_count = count;
        metric.histogram.sample_sum = durations.sum;
        families.add(name, help, MetricType::Histogram, std::move(metric));
    }
    ClientMetric labelled(const Labels& more) const {
        ClientMetric metric;
        metric.label = labels;
        metric.label.insert(metric.label.end(), more.begin(), more.end());
        return metric;
    }
};

void add_outcomes(const Metrics& of, const std::string& name, const std::string& help,
                  const Totals& totals) {
    of.counters(name, help, "outcome",
                {{"applied", totals.applied},
                 {"duplicate", totals.duplicates},
                 {"conflict", totals.conflicts},
                 {"dead_lettered", totals.dead_lettered},
                 {"skipped", totals.skipped}});
}

void add_counts(const Metrics& of, const WorkerCounts& counts) {
    for (const auto& [topic, totals] : counts.topics) {
        add_outcomes({of.families, {{"topic", topic}}}, "onceward_messages_total",
                     "Messages that this process committed, each with exactly one outcome.",
                     totals);
    }
    for (const auto& [topic, leases] : counts.leases) {
        const Metrics here{of.families, {{"topic", topic}}};
        here.counter("onceward_leases_taken_over_total",
                     "Keys taken over from workers whose lease ended before they finished.",
                     leases.taken_over);
        here.counter("onceward_leases_lost_total", "Keys that others took over from this process.",
                     leases.lost);
        here.counter("onceward_effects_again_total", "Attempts that failed; each is repeated.",
                     leases.tried_again);
    }
    of.counter("onceward_messages_below_fence_total",
               "Messages that were redelivered below the fence, and discarded.",
               counts.below_fence);
    of.counter("onceward_offsets_skipped_total",
               "Offsets that on_out_of_range passed; skipped_ranges has them.",
               counts.offsets_skipped);
    of.counter("onceward_batches_total", "Transactions that were committed.", counts.batches);
    of.histogram("onceward_batch_duration_seconds",
                 "From BEGIN to the answer to COMMIT, of transactions that were committed.",
                 counts.durations);
    of.counter("onceward_retries_total", "Times that PostgreSQL refused work for a passing reason.",
               counts.retries);
    of.counter("onceward_postgres_reconnects_total",
               "Sessions with PostgreSQL after each worker's first one.", counts.reconnects);
    of.counter("onceward_commits_in_doubt_total",
               "COMMITs whose answer was lost; the next take-over decided them.",
               counts.commits_in_doubt);
    of.counter("onceward_group_rejoins_total",
               "Times that a static member rejoined because partitions had no owner.",
               counts.rejoins);
}

void add_worker(Families& families, const WorkerState& worker) {
    const Metrics of{families, {{"worker", std::to_string(worker.number)}}};
    const Worker::Status status = worker.status.value_or(Worker::Status{});
    of.gauge("onceward_worker_running", "1; 0 while a worker that ended is restarted.",
             worker.status ? 1 : 0);
    of.gauge("onceward_postgres_connected",
             "1 if the worker has a session and the schema is the right one.",
             status.connected ? 1 : 0, {{"database", worker.database}});
    of.gauge("onceward_group_joined", "1 if the worker is a member of its group.",
             status.joined ? 1 : 0);
    of.gauge("onceward_partitions_assigned", "Partitions that the group gave the worker.",
             status.partitions);
    of.gauge("onceward_partitions_reading", "Assigned partitions that are being read.",
             status.reading);
}

void add_lag(Families& families, const std::vector<PartitionStatus>& partitions) {
    for (const PartitionStatus& status : partitions) {
        const Metrics of{families,
                         {{"topic", status.partition.topic},
                          {"partition", std::to_string(status.partition.partition.raw())}}};
        if (status.lag) {
            of.gauge("onceward_lag_messages",
                     "Offsets between the partition's fence and the end of its log.", *status.lag);
        }
        of.gauge("onceward_lag_seconds",
                 "Age of the oldest message that waits, by its own timestamp; 0 if none.",
                 seconds(status.age));
        of.gauge("onceward_partition_stalled",
                 "1 if messages wait and the partition does not advance.", status.stalled ? 1 : 0);
    }
}

// The inbox has no process: what it does is seen in its tables and locks.
void add_inbox(const Metrics& of, const LedgerView& ledger) {
    of.gauge("onceward_ledger_open_transactions",
             "Transactions that hold the ledger's lock now: sealing and expiry wait for them.",
             ledger.open_transactions);
    if (ledger.open_transactions == 0 || ledger.oldest_transaction) {
        of.gauge("onceward_ledger_open_transaction_seconds",
                 "Age of the oldest of them; 0 if there is none.",
                 seconds(ledger.oldest_transaction.value_or(std::chrono::seconds(0))));
    }
    of.gauge("onceward_ledger_results_bytes", "Bytes of its stored results, with indexes.",
             ledger.results_bytes);
    if (ledger.memory_begins) {
        of.gauge("onceward_ledger_memory_begins_timestamp_seconds",
                 "Keys that were minted before it are refused; since 1970-01-01 UTC.",
                 seconds(*ledger.memory_begins));
    }
}

void add_ledger(Families& families, const std::string& group, const LedgerView& ledger) {
    // A ledger that the inbox alone feeds has its name for a group, so that it is the same for the
    // processes of all groups.
    const bool of_group = ledger.of_group || !ledger.has_inbox;
    const Metrics of{families, {{"group", of_group ? group : "inbox"}, {"ledger", ledger.name}}};
    of.gauge("onceward_ledger_generations", "Generations that the ledger keeps.",
             ledger.generations);
    of.gauge("onceward_ledger_claims",
             "Claims that the ledger keeps; estimated where they are many.", ledger.claims);
    of.gauge("onceward_ledger_bytes", "Bytes of its tables and indexes.", ledger.bytes);
    of.gauge("onceward_ledger_retention_seconds", "The shortest time that a claim is kept.",
             seconds(ledger.retention));
    of.gauge("onceward_ledger_oldest_seconds", "Age of its oldest generation.",
             seconds(ledger.oldest_age));
    of.gauge("onceward_ledger_held_back_seconds",
             "How long the oldest sealed claims were kept beyond their retention.",
             seconds(ledger.held_back));
    // DANGER: not for the inbox's own group. Alerts join requests to their group by this metric,
    // and fail if a process has it for two groups.
    if (of_group) {
        of.gauge("onceward_ledger_takes_requests",
                 "1 if requests claim in it, of routes or of once(), which no fence counts.",
                 ledger.takes_requests ? 1 : 0);
    }
    if (ledger.has_inbox) add_inbox(of, ledger);
    if (ledger.store != "lease") return;
    const std::pair<const char*, std::int64_t> states[] = {{"held", ledger.leases_held},
                                                           {"waiting", ledger.leases_waiting}};
    for (const auto& [state, count] : states) {
        of.gauge("onceward_leases_in_flight",
                 "Keys whose effect has not ended: a worker is processing them, or they "
                 "wait.",
                 count, {{"state", state}});
    }
    of.gauge("onceward_lease_oldest_seconds", "When the oldest of them began; 0 if there is none.",
             seconds(ledger.oldest_lease));
}

void add_retention(Families& families, const RetentionState& state) {
    const Metrics of{families, {{"database", state.database}}};
    const RetentionCounts& counts = state.counts;
    of.counter("onceward_retention_runs_total",
               "Passes over all ledgers by this process, failed ones included.", counts.runs);
    of.counter("onceward_retention_failures_total", "Those that PostgreSQL ended.",
               counts.failures);
    for (const auto& [ledger, looks] : counts.failed_ledgers) {
        of.counter("onceward_retention_ledger_failures_total",
                   "Passes over this ledger that PostgreSQL ended.", looks, {{"ledger", ledger}});
    }
    of.counter("onceward_retention_busy_total",
               "Passes over a ledger that did not get a lock in time.", counts.busy);
    of.counter("onceward_retention_seconds_total", "Duration of the passes.", counts.seconds);
    of.counters(
        "onceward_retention_generations_total",
        "Generations that this process rotated, sealed or dropped.", "step",
        {{"rotated", counts.rotated}, {"sealed", counts.sealed}, {"expired", counts.expired}});
    of.counter("onceward_retention_leases_total", "Ended leases that this process deleted.",
               counts.leases);
    if (counts.last_success) {
        of.gauge("onceward_retention_last_success_timestamp_seconds",
                 "When a pass of each job last succeeded, since 1970-01-01 UTC.",
                 seconds(counts.last_success->time_since_epoch()));
    }
}

void add_relay(Families& families, const RelayState& state) {
    const Metrics of{families, {{"database", state.database}}};
    const RelayCounts& counts = state.counts;
    const auto& [passing, record, topic] = counts.failed;
    of.gauge("onceward_outbox_leader", "1 in the process whose relay sends the group's outbox.",
             counts.leads ? 1 : 0);
    of.counter("onceward_outbox_sent_total", "Records of the outbox that Kafka has acknowledged.",
               counts.sent);
    of.counters("onceward_outbox_failures_total",
                "Times that Kafka did not accept one; each is tried again.", "kind",
                {{"passing", passing}, {"record", record}, {"topic", topic}});
    of.counter("onceward_outbox_restarts_total", "Times that the relay restarted after a failure.",
               counts.restarts);
    of.gauge("onceward_outbox_held_topics", "Topics that are held back for a while.",
             counts.held_topics);
    of.gauge("onceward_outbox_held_keys", "Keys that are held back for a while.", counts.held_keys);
}

void add_route(Families& families, const RouteTraffic& route) {
    const Metrics of{families, {{"route", route.route}}};
    for (const auto& [status, count] : route.statuses) {
        of.counter("onceward_http_requests_total",
                   "Requests that were answered, by route and status.", count,
                   {{"status", std::to_string(status)}});
    }
    if (route.route.empty()) return;  // for no route at all
    of.counter("onceward_http_replayed_total", "Requests that got an earlier one's stored answer.",
               route.replayed);
    of.counter("onceward_http_seconds_total",
               "Their duration, from their last byte to their answer.", route.times.sum);
    of.histogram("onceward_http_request_seconds",
                 "Durations, from their last byte to their answer.", route.times);
    of.gauge("onceward_http_requests_under_way",
             "Requests that have no answer yet; each holds a connection.", route.under_way);
    of.counter("onceward_http_route_full_total",
               "Requests that were refused because too many of the route were under way.",
               route.full);
}

void add_server(const Metrics& of, const ServerCounts& counts) {
    of.gauge("onceward_http_connections", "Connections with the front door.", counts.open);
    of.counter("onceward_http_connections_full_total",
               "Times that a client waited because the limit of connections was reached.",
               counts.full);
    of.counters("onceward_http_connections_closed_total",
                "Connections that were closed to make room for a waiting one.", "reason",
                {{"idle", counts.closed_idle}, {"slow", counts.closed_slow}});
}

void add_durable(Families& families, const std::string& group, const DurableTotals& durable) {
    const Metrics of{families, {{"group", group}}};
    for (const auto& [topic, totals] : durable.topics) {
        add_outcomes({families, {{"group", group}, {"topic", topic}}},
                     "onceward_group_messages_total",
                     "Messages that the group committed since its fences were made, by all "
                     "processes.",
                     totals);
    }
    for (const LedgerView& ledger : durable.ledgers) add_ledger(families, group, ledger);
    of.gauge("onceward_outbox_waiting", "Rows of the group's outbox, 100,000 at most.",
             durable.outbox.waiting);
    of.gauge("onceward_outbox_oldest_seconds", "Age of the oldest of them; 0 if none waits.",
             durable.outbox.oldest_seconds);
    Metrics{families}.gauge("onceward_group_totals_timestamp_seconds",
                            "When the group's totals were read, since 1970-01-01 UTC.",
                            seconds(durable.read_at.time_since_epoch()));
}

void add_traces(const Metrics& of, const TraceCounts& counts) {
    of.counters("onceward_trace_spans_total",
                "Spans that were recorded: exported, dropped because the queue was full, or failed "
                "because the receiver did not take them.",
                "result",
                {{"exported", counts.exported},
                 {"dropped", counts.dropped},
                 {"failed", counts.failed}});
    of.gauge("onceward_trace_spans_waiting", "Spans that wait to be exported.", counts.waiting);
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
        of.gauge("onceward_partitions_halted",
                 "Partitions of this process that wait for an operator or their next try.",
                 reasons[reason], {{"reason", std::string(to_text(reason))}});
    }
    of.gauge("onceward_offsets_lost",
             "Offsets that halted partitions can no longer read: the log lost them.", lost);
}

}  // namespace

std::string metrics_text(const ProcessStatus& process) {
    Families families;
    const Metrics of{families};
    WorkerCounts counts = process.of_ended_workers;
    std::vector<HaltedPartition> halted;
    std::map<std::string, int> paused;
    for (const WorkerState& worker : process.workers) {
        if (!worker.status) continue;
        counts += worker.status->counts;
        halted.insert(halted.end(), worker.status->halted.begin(), worker.status->halted.end());
        for (const auto& [partition, reason] : worker.status->paused) ++paused[partition.topic];
    }
    add_counts(of, counts);
    for (const WorkerState& worker : process.workers) add_worker(families, worker);
    for (const auto& [topic, totals] : counts.topics) {
        add_halted(families, topic, halted);
        of.gauge("onceward_partitions_paused",
                 "Partitions of this process that an operator has paused.", paused[topic],
                 {{"topic", topic}});
    }
    for (const WorkerState& worker : process.workers) {
        if (worker.status) add_lag(families, worker.status->lag);
    }
    for (const RetentionState& state : process.retention) add_retention(families, state);
    for (const RelayState& state : process.relays) add_relay(families, state);
    for (const RouteTraffic& route : process.routes) add_route(families, route);
    if (process.server) add_server(of, *process.server);
    for (const auto& [route, calls] : process.upstream_calls) {
        of.gauge("onceward_http_upstream_calls", "Calls to upstreams that are under way.", calls,
                 {{"route", route}});
    }
    if (process.front_door) {
        of.gauge("onceward_http_postgres_connected",
                 "1 if the PostgreSQL that keeps the routes' keys answers.",
                 process.front_door->postgres_failure.empty() ? 1 : 0);
        for (const auto& [route, count] : process.front_door->timed_out) {
            of.counter("onceward_http_statement_timeouts_total",
                       "Transactions of requests that ran into statement_timeout.", count,
                       {{"route", route}});
        }
    }
    if (process.traces) add_traces(of, *process.traces);
    if (process.durable) add_durable(families, process.group, *process.durable);
    of.gauge("process_start_time_seconds", "Start of the process, since 1970-01-01 UTC.",
             seconds(process.started.time_since_epoch()));
    of.gauge("onceward_build_info", "1, with the program's version.", 1,
             {{"version", ONCEWARD_VERSION}});
    return families.text() + reload_metrics(process.reload);
}

}  // namespace onceward
