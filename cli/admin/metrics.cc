#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <map>

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
    template <class Number>
    void counter(const std::string& name, const std::string& help, Number value,
                 Labels labels = {}) {
        ClientMetric metric = labelled(std::move(labels));
        metric.counter.value = static_cast<double>(value);
        add(name, help, MetricType::Counter, std::move(metric));
    }
    // One for each value of another label.
    void counters(const std::string& name, const std::string& help, const Labels& labels,
                  const std::string& label,
                  std::initializer_list<std::pair<const char*, std::int64_t>> values) {
        for (const auto& [value, count] : values) {
            Labels all = labels;
            all.push_back({label, value});
            counter(name, help, count, std::move(all));
        }
    }
    template <class Number>
    void gauge(const std::string& name, const std::string& help, Number value, Labels labels = {}) {
        ClientMetric metric = labelled(std::move(labels));
        metric.gauge.value = static_cast<double>(value);
        add(name, help, MetricType::Gauge, std::move(metric));
    }
    template <class Histogram>
    void histogram(const std::string& name, const std::string& help, const Histogram& durations,
                   Labels labels = {}) {
        ClientMetric metric = labelled(std::move(labels));
        std::uint64_t count = 0;
        for (std::size_t i = 0; i < durations.counts.size(); ++i) {
            count += static_cast<std::uint64_t>(durations.counts[i]);
            const bool last = i == Histogram::bounds.size();
            metric.histogram.bucket.push_back(
                {count, last ? std::numeric_limits<double>::infinity() : Histogram::bounds[i]});
        }
        metric.histogram.sample_count = count;
        metric.histogram.sample_sum = durations.sum;
        add(name, help, MetricType::Histogram, std::move(metric));
    }
    std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

  private:
    static ClientMetric labelled(Labels labels) {
        ClientMetric metric;
        metric.label = std::move(labels);
        return metric;
    }
    void add(const std::string& name, const std::string& help, MetricType type,
             ClientMetric metric) {
        const auto [found, is_new] = places_.emplace(name, families_.size());
        if (is_new) families_.push_back({name, help, type, {}});
        families_[found->second].metric.push_back(std::move(metric));
    }
    std::vector<MetricFamily> families_;
    std::map<std::string, std::size_t> places_;
};

void add_outcomes(Families& families, const std::string& name, const std::string& help,
                  const Labels& labels, const Totals& totals) {
    families.counters(name, help, labels, "outcome",
                      {{"applied", totals.applied},
                       {"duplicate", totals.duplicates},
                       {"conflict", totals.conflicts},
                       {"dead_lettered", totals.dead_lettered},
                       {"skipped", totals.skipped}});
}

void add_counts(Families& families, const WorkerCounts& counts) {
    for (const auto& [topic, totals] : counts.topics) {
        add_outcomes(families, "onceward_messages_total",
                     "Messages that this process committed, each with exactly one outcome.",
                     {{"topic", topic}}, totals);
    }
    for (const auto& [topic, leases] : counts.leases) {
        const Labels labels{{"topic", topic}};
        families.counter("onceward_leases_taken_over_total",
                         "Keys taken over from workers whose lease ended before they finished.",
                         leases.taken_over, labels);
        families.counter("onceward_leases_lost_total",
                         "Keys that others took over from this process.", leases.lost, labels);
        families.counter("onceward_effects_again_total", "Attempts that failed; each is repeated.",
                         leases.tried_again, labels);
    }
    families.counter("onceward_messages_below_fence_total",
                     "Messages that were redelivered below the fence, and discarded.",
                     counts.below_fence);
    families.counter("onceward_offsets_skipped_total",
                     "Offsets that on_out_of_range passed; skipped_ranges has them.",
                     counts.offsets_skipped);
    families.counter("onceward_batches_total", "Transactions that were committed.", counts.batches);
    families.histogram("onceward_batch_duration_seconds",
                       "From BEGIN to the answer to COMMIT, of transactions that were committed.",
                       counts.durations);
    families.counter("onceward_retries_total",
                     "Times that PostgreSQL refused work for a passing reason.", counts.retries);
    families.counter("onceward_postgres_reconnects_total",
                     "Sessions with PostgreSQL after each worker's first one.", counts.reconnects);
    families.counter("onceward_commits_in_doubt_total",
                     "COMMITs whose answer was lost; the next take-over decided them.",
                     counts.commits_in_doubt);
    families.counter("onceward_group_rejoins_total",
                     "Times that a static member rejoined because partitions had no owner.",
                     counts.rejoins);
}

void add_worker(Families& families, const WorkerState& worker) {
    const Labels labels{{"worker", std::to_string(worker.number)}};
    const Worker::Status status = worker.status.value_or(Worker::Status{});
    families.gauge("onceward_worker_running", "1; 0 while a worker that ended is restarted.",
                   worker.status ? 1 : 0, labels);
    families.gauge("onceward_postgres_connected",
                   "1 if the worker has a session and the schema is the right one.",
                   status.connected ? 1 : 0, {labels.front(), {"database", worker.database}});
    families.gauge("onceward_group_joined", "1 if the worker is a member of its group.",
                   status.joined ? 1 : 0, labels);
    families.gauge("onceward_partitions_assigned", "Partitions that the group gave the worker.",
                   status.partitions, labels);
    families.gauge("onceward_partitions_reading", "Assigned partitions that are being read.",
                   status.reading, labels);
}

void add_lag(Families& families, const std::vector<PartitionStatus>& partitions) {
    for (const PartitionStatus& status : partitions) {
        const Labels labels{{"topic", status.partition.topic},
                            {"partition", std::to_string(status.partition.partition.raw())}};
        if (status.lag) {
            families.gauge("onceward_lag_messages",
                           "Offsets between the partition's fence and the end of its log.",
                           *status.lag, labels);
        }
        families.gauge("onceward_lag_seconds",
                       "Age of the oldest message that waits, by its own timestamp; 0 if none.",
                       seconds(status.age), labels);
        families.gauge("onceward_partition_stalled",
                       "1 if messages wait and the partition does not advance.",
                       status.stalled ? 1 : 0, labels);
    }
}

void add_ledger(Families& families, const std::string& group, const LedgerView& ledger) {
    const Labels labels{{"group", group}, {"ledger", ledger.name}};
    families.gauge("onceward_ledger_generations", "Generations that the ledger keeps.",
                   ledger.generations, labels);
    families.gauge("onceward_ledger_claims",
                   "Claims that the ledger keeps; estimated where they are many.", ledger.claims,
                   labels);
    families.gauge("onceward_ledger_bytes", "Bytes of its tables and indexes.", ledger.bytes,
                   labels);
    families.gauge("onceward_ledger_retention_seconds", "The shortest time that a claim is kept.",
                   seconds(ledger.retention), labels);
    families.gauge("onceward_ledger_oldest_seconds", "Age of its oldest generation.",
                   seconds(ledger.oldest_age), labels);
    families.gauge("onceward_ledger_held_back_seconds",
                   "How long the oldest sealed claims were kept beyond their retention.",
                   seconds(ledger.held_back), labels);
    families.gauge("onceward_ledger_takes_requests",
                   "1 if requests claim in it, of routes or of once(), which no fence counts.",
                   ledger.takes_requests ? 1 : 0, labels);
    if (ledger.store != "lease") return;
    const std::pair<const char*, std::int64_t> states[] = {{"held", ledger.leases_held},
                                                           {"waiting", ledger.leases_waiting}};
    for (const auto& [state, count] : states) {
        families.gauge("onceward_leases_in_flight",
                       "Keys whose effect has not ended: a worker is processing them, or they "
                       "wait.",
                       count, {{"group", group}, {"ledger", ledger.name}, {"state", state}});
    }
    families.gauge("onceward_lease_oldest_seconds",
                   "When the oldest of them began; 0 if there is none.",
                   seconds(ledger.oldest_lease), labels);
}

void add_retention(Families& families, const RetentionState& state) {
    const Labels labels{{"database", state.database}};
    const RetentionCounts& counts = state.counts;
    families.counter("onceward_retention_runs_total",
                     "Passes over all ledgers by this process, failed ones included.", counts.runs,
                     labels);
    families.counter("onceward_retention_failures_total", "Those that PostgreSQL ended.",
                     counts.failures, labels);
    for (const auto& [ledger, looks] : counts.failed_ledgers) {
        families.counter("onceward_retention_ledger_failures_total",
                         "Passes over this ledger that PostgreSQL ended.", looks,
                         {labels.front(), {"ledger", ledger}});
    }
    families.counter("onceward_retention_busy_total",
                     "Passes over a ledger that did not get a lock in time.", counts.busy, labels);
    families.counter("onceward_retention_seconds_total", "Duration of the passes.", counts.seconds,
                     labels);
    families.counters(
        "onceward_retention_generations_total",
        "Generations that this process rotated, sealed or dropped.", labels, "step",
        {{"rotated", counts.rotated}, {"sealed", counts.sealed}, {"expired", counts.expired}});
    families.counter("onceward_retention_leases_total", "Ended leases that this process deleted.",
                     counts.leases, labels);
    if (counts.last_success) {
        families.gauge("onceward_retention_last_success_timestamp_seconds",
                       "When a pass of each job last succeeded, since 1970-01-01 UTC.",
                       seconds(counts.last_success->time_since_epoch()), labels);
    }
}

void add_relay(Families& families, const RelayState& state) {
    const Labels labels{{"database", state.database}};
    const RelayCounts& counts = state.counts;
    const auto& [passing, record, topic] = counts.failed;
    families.gauge("onceward_outbox_leader",
                   "1 in the process whose relay sends the group's outbox.", counts.leads ? 1 : 0,
                   labels);
    families.counter("onceward_outbox_sent_total",
                     "Records of the outbox that Kafka has acknowledged.", counts.sent, labels);
    families.counters("onceward_outbox_failures_total",
                      "Times that Kafka did not accept one; each is tried again.", labels, "kind",
                      {{"passing", passing}, {"record", record}, {"topic", topic}});
    families.counter("onceward_outbox_restarts_total",
                     "Times that the relay restarted after a failure.", counts.restarts, labels);
    families.gauge("onceward_outbox_held_topics", "Topics that are held back for a while.",
                   counts.held_topics, labels);
    families.gauge("onceward_outbox_held_keys", "Keys that are held back for a while.",
                   counts.held_keys, labels);
}

void add_route(Families& families, const RouteTraffic& route) {
    for (const auto& [status, count] : route.statuses) {
        families.counter("onceward_http_requests_total",
                         "Requests that were answered, by route and status.", count,
                         {{"route", route.route}, {"status", std::to_string(status)}});
    }
    if (route.route.empty()) return;  // for no route at all
    const Labels labels{{"route", route.route}};
    families.counter("onceward_http_replayed_total",
                     "Requests that got an earlier one's stored answer.", route.replayed, labels);
    families.counter("onceward_http_seconds_total",
                     "Their duration, from their last byte to their answer.", route.times.sum,
                     labels);
    families.histogram("onceward_http_request_seconds",
                       "Durations, from their last byte to their answer.", route.times, labels);
    families.gauge("onceward_http_requests_under_way",
                   "Requests that have no answer yet; each holds a connection.", route.under_way,
                   labels);
    families.counter("onceward_http_route_full_total",
                     "Requests that were refused because too many of the route were under way.",
                     route.full, labels);
}

void add_server(Families& families, const ServerCounts& counts) {
    families.gauge("onceward_http_connections", "Connections with the front door.", counts.open);
    families.counter("onceward_http_connections_full_total",
                     "Times that a client waited because the limit of connections was reached.",
                     counts.full);
    families.counters("onceward_http_connections_closed_total",
                      "Connections that were closed to make room for a waiting one.", {}, "reason",
                      {{"idle", counts.closed_idle}, {"slow", counts.closed_slow}});
}

void add_durable(Families& families, const std::string& group, const DurableTotals& durable) {
    for (const auto& [topic, totals] : durable.topics) {
        add_outcomes(families, "onceward_group_messages_total",
                     "Messages that the group committed since its fences were made, by all "
                     "processes.",
                     {{"group", group}, {"topic", topic}}, totals);
    }
    for (const LedgerView& ledger : durable.ledgers) add_ledger(families, group, ledger);
    families.gauge("onceward_outbox_waiting", "Rows of the group's outbox, 100,000 at most.",
                   durable.outbox.waiting, {{"group", group}});
    families.gauge("onceward_outbox_oldest_seconds", "Age of the oldest of them; 0 if none waits.",
                   durable.outbox.oldest_seconds, {{"group", group}});
    families.gauge("onceward_group_totals_timestamp_seconds",
                   "When the group's totals were read, since 1970-01-01 UTC.",
                   seconds(durable.read_at.time_since_epoch()));
}

// Every reason is there from the start, so that 0 differs from unknown.
void add_halted(Families& families, const std::string& topic,
                const std::vector<HaltedPartition>& all) {
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
        families.gauge("onceward_partitions_halted",
                       "Partitions of this process that wait for an operator or their next try.",
                       reasons[reason],
                       {{"topic", topic}, {"reason", std::string(to_text(reason))}});
    }
    families.gauge("onceward_offsets_lost",
                   "Offsets that halted partitions can no longer read: the log lost them.", lost,
                   {{"topic", topic}});
}

}  // namespace

std::string metrics_text(const ProcessStatus& process) {
    Families families;
    WorkerCounts counts = process.of_ended_workers;
    std::vector<HaltedPartition> halted;
    std::map<std::string, int> paused;
    for (const WorkerState& worker : process.workers) {
        if (!worker.status) continue;
        counts += worker.status->counts;
        halted.insert(halted.end(), worker.status->halted.begin(), worker.status->halted.end());
        for (const auto& [partition, reason] : worker.status->paused) ++paused[partition.topic];
    }
    add_counts(families, counts);
    for (const WorkerState& worker : process.workers) add_worker(families, worker);
    for (const auto& [topic, totals] : counts.topics) {
        add_halted(families, topic, halted);
        families.gauge("onceward_partitions_paused",
                       "Partitions of this process that an operator has paused.", paused[topic],
                       {{"topic", topic}});
    }
    for (const WorkerState& worker : process.workers) {
        if (worker.status) add_lag(families, worker.status->lag);
    }
    for (const RetentionState& state : process.retention) add_retention(families, state);
    for (const RelayState& state : process.relays) add_relay(families, state);
    for (const RouteTraffic& route : process.routes) add_route(families, route);
    if (process.server) add_server(families, *process.server);
    for (const auto& [route, calls] : process.upstream_calls) {
        families.gauge("onceward_http_upstream_calls", "Calls to upstreams that are under way.",
                       calls, {{"route", route}});
    }
    if (process.front_door) {
        families.gauge("onceward_http_postgres_connected",
                       "1 if the PostgreSQL that keeps the routes' keys answers.",
                       process.front_door->postgres_failure.empty() ? 1 : 0, {});
        for (const auto& [route, count] : process.front_door->timed_out) {
            families.counter("onceward_http_statement_timeouts_total",
                             "Transactions of requests that ran into statement_timeout.", count,
                             {{"route", route}});
        }
    }
    if (process.durable) add_durable(families, process.group, *process.durable);
    families.gauge("process_start_time_seconds", "Start of the process, since 1970-01-01 UTC.",
                   seconds(process.started.time_since_epoch()));
    families.gauge("onceward_build_info", "1, with the program's version.", 1,
                   {{"version", ONCEWARD_VERSION}});
    return families.text();
}

}  // namespace onceward
