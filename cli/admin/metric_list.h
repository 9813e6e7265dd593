#pragma once
// Every metric of the program, once: its name, type, labels, unit, who gives it and what it means.
// The exposition takes its help texts from here, and `onceward config metrics` its page. What is
// not here cannot be given, since the compiler does the lookup. Constants.

#include <cstdint>
#include <string_view>

namespace onceward {

enum class MetricKind : std::uint8_t { counter, gauge, histogram };

// Which processes have it.
enum class GivenBy : std::uint8_t {
    workers,  // `onceward run` with topics
    routes,   // `onceward serve`, and `onceward run` with routes
    keeping,  // those with topics, and those with routes that keep keys
    group,    // each, and the same from every one: from PostgreSQL
    each,
};

struct MetricSpec {
    std::string_view name;
    MetricKind kind;
    std::string_view labels;  // with a blank between two
    std::string_view unit;
    GivenBy given_by;
    std::string_view meaning;
};

inline constexpr MetricSpec metric_list[] = {
    {"onceward_messages_total", MetricKind::counter, "topic outcome", "messages", GivenBy::workers,
     "Messages that this process committed. Each has exactly one outcome: `applied`, `duplicate`, "
     "`conflict`, `dead_lettered`, `skipped`."},
    {"onceward_end_to_end_latency_seconds", MetricKind::histogram, "topic", "seconds",
     GivenBy::workers,
     "How old messages were when the COMMIT that covers them was answered, from the record's "
     "timestamp, whatever their outcome. Records without a timestamp are left out; one in the "
     "future counts as 0."},
    {"onceward_leases_taken_over_total", MetricKind::counter, "topic", "keys", GivenBy::workers,
     "With a `webhook`: keys taken over from workers whose lease ended before they finished."},
    {"onceward_leases_lost_total", MetricKind::counter, "topic", "keys", GivenBy::workers,
     "With a `webhook`: keys that others took over from this process."},
    {"onceward_effects_again_total", MetricKind::counter, "topic", "calls", GivenBy::workers,
     "With a `webhook`: calls that did not get through; each is made again."},
    {"onceward_messages_below_fence_total", MetricKind::counter, "", "messages", GivenBy::workers,
     "Messages that were redelivered below the fence, and discarded."},
    {"onceward_offsets_skipped_total", MetricKind::counter, "", "offsets", GivenBy::workers,
     "Offsets that `on_out_of_range` passed unread; the table `skipped_ranges` has them."},
    {"onceward_batches_total", MetricKind::counter, "", "transactions", GivenBy::workers,
     "Transactions that moved a fence and were committed."},
    {"onceward_batch_duration_seconds", MetricKind::histogram, "", "seconds", GivenBy::workers,
     "From BEGIN to the answer to COMMIT, of transactions that were committed."},
    {"onceward_batch_part_duration_seconds", MetricKind::histogram, "part", "seconds",
     GivenBy::workers,
     "The parts of the same transactions, one after the other: `fence` (rows locked and "
     "compared), `claims` (keys claimed or found), `sink` (rows written, by COPY where the table "
     "allows it), `settle` (fences moved, a log's claims appended), `commit` (from COMMIT to its "
     "answer). With leases some parts are missing. A transaction in one round trip is all "
     "`commit`."},
    {"onceward_round_trip_batches_total", MetricKind::counter, "outcome", "transactions",
     GivenBy::workers,
     "A few messages that were sent to PostgreSQL in one round trip, from BEGIN to COMMIT: "
     "`landed`, or `repeated` step by step, for example because another process had claimed keys "
     "meanwhile."},
    {"onceward_retries_total", MetricKind::counter, "", "times", GivenBy::workers,
     "Times that PostgreSQL refused work for a passing reason."},
    {"onceward_postgres_reconnects_total", MetricKind::counter, "", "sessions", GivenBy::workers,
     "Sessions with PostgreSQL after each worker's first one."},
    {"onceward_commits_in_doubt_total", MetricKind::counter, "", "transactions", GivenBy::workers,
     "COMMITs whose answer was lost; the next take-over decided them."},
    {"onceward_rebalances_total", MetricKind::counter, "kind", "times", GivenBy::workers,
     "Times that the group gave workers partitions (`assigned`, which may be none), asked for "
     "them (`revoked`) or had expelled the worker (`lost`)."},
    {"onceward_group_rejoins_total", MetricKind::counter, "", "times", GivenBy::workers,
     "Times that a static member left the group and joined it again because partitions had no "
     "owner."},
    {"onceward_worker_running", MetricKind::gauge, "worker", "1 or 0", GivenBy::workers,
     "1; 0 while a worker that ended is restarted."},
    {"onceward_postgres_connected", MetricKind::gauge, "worker database", "1 or 0",
     GivenBy::workers,
     "1 if the worker has a session and the schema is the right one. The database is `postgres`, "
     "or a name in `databases`."},
    {"onceward_group_joined", MetricKind::gauge, "worker", "1 or 0", GivenBy::workers,
     "1 if the worker is a member of its group."},
    {"onceward_partitions_assigned", MetricKind::gauge, "worker", "partitions", GivenBy::workers,
     "Partitions that the group gave the worker."},
    {"onceward_partitions_reading", MetricKind::gauge, "worker", "partitions", GivenBy::workers,
     "Assigned partitions that are being read."},
    {"onceward_partitions_halted", MetricKind::gauge, "topic reason", "partitions",
     GivenBy::workers,
     "Partitions of this process that are halted: not read until an operator acts, or until their "
     "next try."},
    {"onceward_partitions_paused", MetricKind::gauge, "topic", "partitions", GivenBy::workers,
     "Partitions of this process that an operator has paused. That is no fault, and `/readyz` "
     "ignores it."},
    {"onceward_partitions_awaiting_schema", MetricKind::gauge, "topic", "partitions",
     GivenBy::workers,
     "Partitions of this process that await the schema of their next message: it is being fetched, "
     "or the registry is in trouble."},
    {"onceward_registry_fetches_total", MetricKind::counter, "registry outcome", "fetches",
     GivenBy::workers,
     "Fetches of schemas, references included, by their ends: `found`, `unknown` (the registry "
     "has no such schema), `refused` (it cannot be used), `failed` (the registry or the way to it "
     "is in trouble; tried again)."},
    {"onceward_registry_schemas", MetricKind::gauge, "registry", "schemas", GivenBy::workers,
     "Schemas that the process keeps, and ids that it knows to have none."},
    {"onceward_registry_schema_bytes", MetricKind::gauge, "registry", "bytes", GivenBy::workers,
     "Their size."},
    {"onceward_registry_available", MetricKind::gauge, "registry", "1 or 0", GivenBy::workers,
     "0 from when a fetch fails until one succeeds."},
    {"onceward_offsets_lost", MetricKind::gauge, "topic", "offsets", GivenBy::workers,
     "Offsets that halted partitions can no longer read: the log lost them."},
    {"onceward_lag_messages", MetricKind::gauge, "topic partition", "offsets", GivenBy::workers,
     "Offsets between the partition's fence and the end of its log; left out while either is "
     "unknown."},
    {"onceward_lag_seconds", MetricKind::gauge, "topic partition", "seconds", GivenBy::workers,
     "Age of the oldest message that waits, by its own timestamp; 0 if none waits."},
    {"onceward_partition_stalled", MetricKind::gauge, "topic partition", "1 or 0", GivenBy::workers,
     "1 if messages wait and the partition does not advance."},
    {"onceward_memory_budget_bytes", MetricKind::gauge, "", "bytes", GivenBy::workers,
     "What `memory.budget` allows the process, which drains and ends when "
     "`process_resident_memory_bytes` exceeds that. Left out if there is no budget."},
    {"onceward_group_messages_total", MetricKind::counter, "group topic outcome", "messages",
     GivenBy::group,
     "The durable totals: messages that the group committed since its fences were made, by all "
     "processes."},
    {"onceward_dead_letters_open", MetricKind::gauge, "group topic", "dead letters", GivenBy::group,
     "Dead letters that nobody has redriven or discarded, counted up to 100,000 of the whole "
     "group, about once a minute. Left out while PostgreSQL does not count them in time."},
    {"onceward_dead_letters_oldest_seconds", MetricKind::gauge, "group topic", "seconds",
     GivenBy::group, "Age of the oldest of them; 0 if there is none."},
    {"onceward_dead_letters_open_by_class", MetricKind::gauge, "group topic class", "dead letters",
     GivenBy::group,
     "The same letters by why they were rejected, of one count with `onceward_dead_letters_open`. "
     "A class without open letters is left out."},
    {"onceward_ledger_generations", MetricKind::gauge, "group ledger", "generations",
     GivenBy::group, "Generations that the ledger keeps."},
    {"onceward_ledger_claims", MetricKind::gauge, "group ledger", "claims", GivenBy::group,
     "Claims that the ledger keeps; counted while they are few, otherwise estimated."},
    {"onceward_ledger_bytes", MetricKind::gauge, "group ledger", "bytes", GivenBy::group,
     "Size of its tables and indexes."},
    {"onceward_ledger_retention_seconds", MetricKind::gauge, "group ledger", "seconds",
     GivenBy::group, "The shortest time that a claim is kept."},
    {"onceward_ledger_oldest_seconds", MetricKind::gauge, "group ledger", "seconds", GivenBy::group,
     "Age of its oldest generation."},
    {"onceward_ledger_held_back_seconds", MetricKind::gauge, "group ledger", "seconds",
     GivenBy::group,
     "How long the oldest sealed claims, or ended leases, were kept beyond their retention, by "
     "the wall clock; half a minute is usual."},
    {"onceward_ledger_holder", MetricKind::gauge, "group ledger holder topic kind", "1",
     GivenBy::group,
     "What holds the ledger's retention back, the oldest of all that does: 1 for the group in "
     "`holder` with its topic, by a `partition` whose messages wait, by its list of `partitions`, "
     "or by an open `replay`. Left out while nothing is held back for more than five minutes."},
    {"onceward_ledger_takes_requests", MetricKind::gauge, "group ledger", "1 or 0", GivenBy::group,
     "1 if requests claim in it, of routes or of `once()`, which `onceward_group_messages_total` "
     "does not count."},
    {"onceward_ledger_open_transactions", MetricKind::gauge, "group ledger", "transactions",
     GivenBy::group,
     "Of a ledger with an inbox: transactions that hold its lock now, prepared ones too. Sealing "
     "and expiry wait for them; `holders()` names them."},
    {"onceward_ledger_open_transaction_seconds", MetricKind::gauge, "group ledger", "seconds",
     GivenBy::group,
     "Age of the oldest of them; 0 if there is none. Left out if the schema's owner may not see "
     "it (`pg_read_all_stats`)."},
    {"onceward_ledger_results_bytes", MetricKind::gauge, "group ledger", "bytes", GivenBy::group,
     "Of a ledger with an inbox: its stored results, with indexes; `onceward_ledger_bytes` "
     "includes them."},
    {"onceward_ledger_memory_begins_timestamp_seconds", MetricKind::gauge, "group ledger",
     "seconds since 1970", GivenBy::group,
     "Of a ledger with an inbox: keys that were minted before it are refused. Left out until "
     "something was forgotten."},
    {"onceward_leases_in_flight", MetricKind::gauge, "group ledger state", "keys", GivenBy::group,
     "Of a `lease` ledger: keys whose effect has not ended, `held` by a worker or a caller, or "
     "`waiting` to be tried again or taken over."},
    {"onceward_lease_oldest_seconds", MetricKind::gauge, "group ledger", "seconds", GivenBy::group,
     "Age of the oldest of these keys, no matter how many workers have held it; 0 if there is "
     "none."},
    {"onceward_outbox_waiting", MetricKind::gauge, "group", "rows", GivenBy::group,
     "Rows of the group's outbox, counted up to 100,000."},
    {"onceward_outbox_oldest_seconds", MetricKind::gauge, "group", "seconds", GivenBy::group,
     "Age of the oldest of them; 0 if none waits."},
    {"onceward_group_totals_timestamp_seconds", MetricKind::gauge, "", "seconds since 1970",
     GivenBy::group, "When the group's totals were read."},
    {"onceward_retention_runs_total", MetricKind::counter, "database", "passes", GivenBy::keeping,
     "Passes over all ledgers by this process, failed ones included."},
    {"onceward_retention_failures_total", MetricKind::counter, "database", "passes",
     GivenBy::keeping, "Passes that failed with an error of PostgreSQL."},
    {"onceward_retention_ledger_failures_total", MetricKind::counter, "database ledger", "passes",
     GivenBy::keeping,
     "Passes over this ledger that PostgreSQL ended; the others are checked all the same."},
    {"onceward_retention_busy_total", MetricKind::counter, "database", "passes", GivenBy::keeping,
     "Passes over a ledger that did not get a lock in time; they are repeated."},
    {"onceward_retention_seconds_total", MetricKind::counter, "database", "seconds",
     GivenBy::keeping, "Duration of the passes."},
    {"onceward_retention_generations_total", MetricKind::counter, "database step", "generations",
     GivenBy::keeping,
     "Generations that this process `rotated`, `sealed` (made a segment) or dropped (`expired`), "
     "and how often it `merged` several segments into one."},
    {"onceward_claims_memory_bytes", MetricKind::gauge, "database", "bytes", GivenBy::keeping,
     "What the process has in memory of the claims of `log` ledgers: recent ones one by one, and "
     "filters over the sealed ones."},
    {"onceward_claims_memory_limit_bytes", MetricKind::gauge, "database", "bytes", GivenBy::keeping,
     "How much that may be, by `memory.claims`. Sealed claims whose filters do not fit are looked "
     "up in PostgreSQL; if recent claims alone are more than this, batches are delayed a little."},
    {"onceward_retention_leases_total", MetricKind::counter, "database", "leases", GivenBy::keeping,
     "Ended leases that this process deleted."},
    {"onceward_retention_last_success_timestamp_seconds", MetricKind::gauge, "database",
     "seconds since 1970", GivenBy::keeping,
     "When a pass last succeeded, of the job that has waited longest for one."},
    {"onceward_outbox_leader", MetricKind::gauge, "database", "1 or 0", GivenBy::keeping,
     "1 in the process whose relay sends the group's outbox. Given, as the next five, if something "
     "is published on that server."},
    {"onceward_outbox_sent_total", MetricKind::counter, "database", "records", GivenBy::keeping,
     "Records of the outbox that Kafka has acknowledged."},
    {"onceward_outbox_failures_total", MetricKind::counter, "database kind", "times",
     GivenBy::keeping,
     "Times that Kafka did not accept one, by the reason: `passing`, `record`, `topic`; each is "
     "tried again."},
    {"onceward_outbox_restarts_total", MetricKind::counter, "database", "times", GivenBy::keeping,
     "Times that the relay restarted, after PostgreSQL or its producer failed."},
    {"onceward_outbox_held_topics", MetricKind::gauge, "database", "topics", GivenBy::keeping,
     "Topics that are held for a while."},
    {"onceward_outbox_held_keys", MetricKind::gauge, "database", "keys", GivenBy::keeping,
     "Keys that are held for a while."},
    {"onceward_http_requests_total", MetricKind::counter, "route status", "requests",
     GivenBy::routes,
     "Requests that were answered. The route is empty if none matched, and for requests that the "
     "server itself refuses. Queries of a key's status count under the `status_path`."},
    {"onceward_http_replayed_total", MetricKind::counter, "route", "requests", GivenBy::routes,
     "Requests that got an earlier request's stored response."},
    {"onceward_http_seconds_total", MetricKind::counter, "route", "seconds", GivenBy::routes,
     "The time that requests took, from their last byte to their response."},
    {"onceward_http_request_seconds", MetricKind::histogram, "route", "seconds", GivenBy::routes,
     "The same, as a histogram."},
    {"onceward_http_requests_under_way", MetricKind::gauge, "route", "requests", GivenBy::routes,
     "Requests that have no response yet; each holds a connection."},
    {"onceward_http_route_full_total", MetricKind::counter, "route", "requests", GivenBy::routes,
     "Requests that got a 503 at once, as too many of the route were under way (`at_once`)."},
    {"onceward_http_upstream_calls", MetricKind::gauge, "route", "calls", GivenBy::routes,
     "Calls to the upstream that are under way."},
    {"onceward_http_connections", MetricKind::gauge, "", "connections", GivenBy::routes,
     "Connections with the front door."},
    {"onceward_http_connections_full_total", MetricKind::counter, "", "times", GivenBy::routes,
     "Times that a client waited because there were as many connections as "
     "`http.limits.connections` allows."},
    {"onceward_http_connections_closed_total", MetricKind::counter, "reason", "connections",
     GivenBy::routes,
     "Connections that were closed for a waiting client: `idle` ones, and `slow` ones, whose "
     "request had not arrived whole or whose client did not read its answer."},
    {"onceward_http_statement_timeouts_total", MetricKind::counter, "route", "transactions",
     GivenBy::routes,
     "Transactions of requests that ran into `statement_timeout`; fewer requests go into the next "
     "ones."},
    {"onceward_http_postgres_connected", MetricKind::gauge, "", "1 or 0", GivenBy::routes,
     "1 while the PostgreSQL that keeps the routes' keys answers, with the schema that they need; "
     "0 after five seconds of silence as well. Left out if all routes lead to topics."},
    {"onceward_reloads_total", MetricKind::counter, "result", "reloads", GivenBy::workers,
     "Times that `run` was asked to reload its configuration: `applied`, `unchanged` if nothing "
     "differed, or `refused`."},
    {"onceward_reload_last_success_timestamp_seconds", MetricKind::gauge, "", "seconds since 1970",
     GivenBy::workers, "When a reload was last not refused. Left out until one was."},
    {"onceward_trace_spans_total", MetricKind::counter, "result", "spans", GivenBy::each,
     "Spans that were recorded: `exported`, `dropped` because the queue was full, `failed` "
     "because the receiver did not take them. Left out while traces are off."},
    {"onceward_trace_spans_waiting", MetricKind::gauge, "", "spans", GivenBy::each,
     "Spans that wait to be exported. Left out while traces are off."},
    {"process_resident_memory_bytes", MetricKind::gauge, "", "bytes", GivenBy::each,
     "Memory of this process that is resident."},
    {"process_start_time_seconds", MetricKind::gauge, "", "seconds since 1970", GivenBy::each,
     "When the process started."},
    {"onceward_build_info", MetricKind::gauge, "version revision compiler", "1", GivenBy::each,
     "1, with the program's version, the commit and the compiler that it was built from; "
     "`unknown` if the build had no repository."},
};

// A metric of that kind, by its name; a name that is not in the list does not compile.
template <MetricKind kind>
class Listed {
  public:
    // NOLINTNEXTLINE(google-explicit-constructor): a name stands for its metric.
    consteval Listed(const char* name) : spec_(&find(name)) {}
    const MetricSpec& spec() const { return *spec_; }

  private:
    static consteval const MetricSpec& find(std::string_view name) {
        for (const MetricSpec& spec : metric_list) {
            if (spec.name == name && spec.kind == kind) return spec;
        }
        throw "metric_list has no such metric of this kind";
    }
    const MetricSpec* spec_;
};

}  // namespace onceward
