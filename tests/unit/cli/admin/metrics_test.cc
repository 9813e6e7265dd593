#include <gmock/gmock.h>

#include <regex>
#include <set>
#include <sstream>

#include "cli/admin/verdicts.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

ProcessStatus one_worker() {
    Worker::Status status;
    status.connected = true;
    status.partitions = 2;
    status.counts.topics["orders"] = Totals{7, 2, 1, 3, 4};
    status.counts.below_fence = 5;
    status.counts.batches = 2;
    status.counts.rejoins = 3;
    status.counts.durations.observe(0.004);
    status.counts.durations.observe(90);
    status.halted.push_back(
        {{"orders", Partition{1}},
         {HaltReason::out_of_range, "too old", OffsetRange{Offset{5}, Offset{12}}, {}}});
    ProcessStatus process;
    process.group = "billing";
    process.started = std::chrono::system_clock::time_point(1'700'000'000s);
    process.workers.push_back({0, status, ""});
    return process;
}

TEST(Metrics, EachOutcomeIsOneSampleOfOneCounter) {
    const std::string text = metrics_text(one_worker());
    EXPECT_THAT(text, HasSubstr("# TYPE onceward_messages_total counter\n"));
    for (const char* sample :
         {"outcome=\"applied\"} 7\n", "outcome=\"duplicate\"} 2\n", "outcome=\"conflict\"} 1\n",
          "outcome=\"dead_lettered\"} 3\n", "outcome=\"skipped\"} 4\n"}) {
        EXPECT_THAT(text,
                    HasSubstr(std::string("onceward_messages_total{topic=\"orders\",") + sample));
    }
    EXPECT_THAT(text, HasSubstr("onceward_messages_below_fence_total 5\n"));
    EXPECT_THAT(text, HasSubstr("onceward_group_rejoins_total 3\n"));
}

TEST(Metrics, DurationsAreAHistogramOfSeconds) {
    const std::string text = metrics_text(one_worker());
    EXPECT_THAT(text, HasSubstr("onceward_batch_duration_seconds_bucket{le=\"0.0025\"} 0\n"));
    EXPECT_THAT(text, HasSubstr("onceward_batch_duration_seconds_bucket{le=\"0.005\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("onceward_batch_duration_seconds_bucket{le=\"60\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("onceward_batch_duration_seconds_bucket{le=\"+Inf\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("onceward_batch_duration_seconds_count 2\n"));
    EXPECT_THAT(text, HasSubstr("onceward_batch_duration_seconds_sum 90.004"));
}

TEST(Metrics, AWorkerThatEndedStaysCounted) {
    ProcessStatus process = one_worker();
    process.of_ended_workers = process.workers[0].status->counts;
    EXPECT_THAT(metrics_text(process), HasSubstr("outcome=\"applied\"} 14\n"));
    process.workers[0].status.reset();
    const std::string text = metrics_text(process);
    EXPECT_THAT(text, HasSubstr("outcome=\"applied\"} 7\n"));
    EXPECT_THAT(text, HasSubstr("onceward_worker_running{worker=\"0\"} 0\n"));
}

TEST(Metrics, TellsOfTheWorkersAndTheProcess) {
    const std::string text = metrics_text(one_worker());
    EXPECT_THAT(text,
                HasSubstr("onceward_postgres_connected{worker=\"0\",database=\"postgres\"} 1\n"));
    const std::string halted = "onceward_partitions_halted{topic=\"orders\",";
    EXPECT_THAT(text, HasSubstr("onceward_partitions_assigned{worker=\"0\"} 2\n"));
    EXPECT_THAT(text, HasSubstr(halted + "reason=\"out_of_range\"} 1\n"));
    EXPECT_THAT(text, HasSubstr(halted + "reason=\"failed\"} 0\n"));
    EXPECT_THAT(text, HasSubstr("onceward_offsets_lost{topic=\"orders\"} 7\n"));
    EXPECT_THAT(text, HasSubstr("process_start_time_seconds 1700000000\n"));
    EXPECT_THAT(text, HasSubstr("onceward_build_info{version=\""));
}

TEST(Metrics, LagIsToldForEachPartitionAndLeftOutWhereItIsUnknown) {
    ProcessStatus process = one_worker();
    PartitionStatus known;
    known.partition = {"orders", Partition{0}};
    known.lag = 12;
    known.age = 1500ms;
    PartitionStatus unknown;
    unknown.partition = {"orders", Partition{1}};
    unknown.stalled = true;
    process.workers[0].status->lag = {known, unknown};
    const std::string text = metrics_text(process);
    const std::string first = "{topic=\"orders\",partition=\"0\"} ";
    const std::string second = "{topic=\"orders\",partition=\"1\"} ";
    EXPECT_THAT(text, HasSubstr("onceward_lag_messages" + first + "12\n"));
    EXPECT_THAT(text, HasSubstr("onceward_lag_seconds" + first + "1.5\n"));
    EXPECT_THAT(text, HasSubstr("onceward_partition_stalled" + first + "0\n"));
    EXPECT_THAT(text, HasSubstr("onceward_partition_stalled" + second + "1\n"));
    EXPECT_THAT(text, Not(HasSubstr("onceward_lag_messages" + second)));
}

TEST(Metrics, TheGroupsTotalsAreThereOnceTheyWereRead) {
    ProcessStatus process = one_worker();
    EXPECT_THAT(metrics_text(process), Not(HasSubstr("onceward_group_messages_total")));
    process.durable = DurableTotals{{{"orders", Totals{70, 0, 0, 0, 0}}}, process.started};
    EXPECT_THAT(metrics_text(process),
                HasSubstr("onceward_group_messages_total{group=\"billing\",topic=\"orders\","
                          "outcome=\"applied\"} 70\n"));
}

TEST(Metrics, ALedgerTellsWhatItKeepsAndHowLongItIsHeldBack) {
    ProcessStatus process = one_worker();
    process.durable.emplace();
    LedgerView ledger;
    ledger.name = "orders";
    ledger.retention = 24h;
    ledger.generations = 9;
    ledger.claims = 1'000'000;
    ledger.bytes = 108'000'000;
    ledger.held_back = 90s;
    process.durable->ledgers.push_back(ledger);
    const std::string text = metrics_text(process);
    const std::string labels = "{group=\"billing\",ledger=\"orders\"} ";
    EXPECT_THAT(text, HasSubstr("onceward_ledger_generations" + labels + "9\n"));
    EXPECT_THAT(text, HasSubstr("onceward_ledger_claims" + labels + "1000000\n"));
    EXPECT_THAT(text, HasSubstr("onceward_ledger_bytes" + labels + "108000000\n"));
    EXPECT_THAT(text, HasSubstr("onceward_ledger_retention_seconds" + labels + "86400\n"));
    EXPECT_THAT(text, HasSubstr("onceward_ledger_held_back_seconds" + labels + "90\n"));
    EXPECT_THAT(text, HasSubstr("onceward_ledger_takes_requests" + labels + "0\n"));
    process.durable->ledgers[0].takes_requests = true;
    EXPECT_THAT(metrics_text(process),
                HasSubstr("onceward_ledger_takes_requests" + labels + "1\n"));
}

TEST(Metrics, ALedgerOfTheInboxTellsWhoHoldsItAndWhatItForgot) {
    ProcessStatus process = one_worker();
    process.durable.emplace();
    LedgerView ledger;
    ledger.name = "payments";
    ledger.takes_requests = true;
    ledger.has_inbox = true;
    ledger.results_bytes = 16384;
    process.durable->ledgers.push_back(ledger);
    const std::string labels = "{group=\"inbox\",ledger=\"payments\"} ";
    std::string text = metrics_text(process);
    EXPECT_THAT(text, HasSubstr("onceward_ledger_claims" + labels + "0\n"));
    EXPECT_THAT(text, HasSubstr("onceward_ledger_results_bytes" + labels + "16384\n"));
    EXPECT_THAT(text, HasSubstr("onceward_ledger_open_transactions" + labels + "0\n"));
    EXPECT_THAT(text, HasSubstr("onceward_ledger_open_transaction_seconds" + labels + "0\n"));
    EXPECT_THAT(text, Not(HasSubstr("onceward_ledger_memory_begins")));
    EXPECT_THAT(text, Not(HasSubstr("onceward_ledger_takes_requests")))
        << "an alert joins by it: two groups of one process would make it fail";
    process.durable->ledgers[0].open_transactions = 3;
    process.durable->ledgers[0].memory_begins = 1'700'000'000s;
    text = metrics_text(process);
    EXPECT_THAT(text, HasSubstr("onceward_ledger_open_transactions" + labels + "3\n"));
    EXPECT_THAT(text, Not(HasSubstr("onceward_ledger_open_transaction_seconds")))
        << "PostgreSQL hides the age";
    EXPECT_THAT(text,
                HasSubstr("onceward_ledger_memory_begins_timestamp_seconds" + labels + "17"));
    process.durable->ledgers[0].oldest_transaction = 90s;
    process.durable->ledgers[0].of_group = true;
    text = metrics_text(process);
    const std::string shared = "{group=\"billing\",ledger=\"payments\"} ";
    EXPECT_THAT(text, HasSubstr("onceward_ledger_open_transaction_seconds" + shared + "90\n"));
    EXPECT_THAT(text, HasSubstr("onceward_ledger_takes_requests" + shared + "1\n"));
}

TEST(Metrics, LeasesTellWhatIsInFlightAndWhatWasTakenOver) {
    ProcessStatus process = one_worker();
    EXPECT_THAT(metrics_text(process), Not(HasSubstr("onceward_lease"))) << "no topic has them";
    process.workers[0].status->counts.leases["orders"] = {
        .taken_over = 3, .lost = 2, .tried_again = 5};
    process.durable.emplace();
    LedgerView ledger;
    ledger.name = "calls";
    ledger.store = "lease";
    ledger.leases_held = 4;
    ledger.leases_waiting = 1;
    ledger.oldest_lease = 90s;
    process.durable->ledgers.push_back(ledger);
    const std::string text = metrics_text(process);
    const std::string topic = "{topic=\"orders\"} ", calls = "{group=\"billing\",ledger=\"calls\"";
    EXPECT_THAT(text, HasSubstr("onceward_leases_taken_over_total" + topic + "3\n"));
    EXPECT_THAT(text, HasSubstr("onceward_leases_lost_total" + topic + "2\n"));
    EXPECT_THAT(text, HasSubstr("onceward_effects_again_total" + topic + "5\n"));
    EXPECT_THAT(text, HasSubstr("onceward_leases_in_flight" + calls + ",state=\"held\"} 4\n"));
    EXPECT_THAT(text, HasSubstr("onceward_leases_in_flight" + calls + ",state=\"waiting\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("onceward_lease_oldest_seconds" + calls + "} 90\n"));
}

TEST(Metrics, TheRetentionJobTellsItsRunsFailuresAndSteps) {
    ProcessStatus process = one_worker();
    RetentionState state;
    state.counts.runs = 7;
    state.counts.failures = 2;
    state.counts.failed_ledgers["orders"] = 6;
    state.counts.expired = 3;
    state.counts.leases = 8;
    state.counts.seconds = 1.5;
    state.claims_bytes = 1000;
    state.claims_limit = 2000;
    process.retention = {state};
    std::string text = metrics_text(process);
    const std::string database = "{database=\"postgres\"";
    EXPECT_THAT(text, HasSubstr("onceward_retention_runs_total" + database + "} 7\n"));
    EXPECT_THAT(text, HasSubstr("onceward_retention_failures_total" + database + "} 2\n"));
    EXPECT_THAT(text, HasSubstr("onceward_retention_ledger_failures_total" + database +
                                ",ledger=\"orders\"} 6\n"));
    EXPECT_THAT(text, HasSubstr("onceward_retention_seconds_total" + database + "} 1.5\n"));
    EXPECT_THAT(text, HasSubstr("onceward_retention_generations_total" + database +
                                ",step=\"expired\"} 3\n"));
    EXPECT_THAT(text, HasSubstr("onceward_retention_leases_total" + database + "} 8\n"));
    EXPECT_THAT(text, HasSubstr("onceward_claims_memory_bytes" + database + "} 1000\n"));
    EXPECT_THAT(text, HasSubstr("onceward_claims_memory_limit_bytes" + database + "} 2000\n"));
    EXPECT_THAT(text, Not(HasSubstr("onceward_retention_last_success")));
    process.retention[0].counts.last_success = process.started;
    EXPECT_THAT(metrics_text(process),
                HasSubstr("onceward_retention_last_success_timestamp_seconds" + database +
                          "} 1700000000\n"));
}

TEST(Metrics, TheOutboxTellsWhatWaitsWhatWasSentAndWhatIsHeld) {
    ProcessStatus process = one_worker();
    EXPECT_THAT(metrics_text(process), Not(HasSubstr("onceward_outbox"))) << "no topic has one";
    RelayState state;
    state.counts = {.leads = true, .sent = 12, .failed = {0, 3, 0}, .held_keys = 1};
    process.relays = {state};
    process.durable.emplace();
    process.durable->outbox = {40, 7};
    const std::string text = metrics_text(process);
    const std::string database = "{database=\"postgres\"";
    EXPECT_THAT(text, HasSubstr("onceward_outbox_waiting{group=\"billing\"} 40\n"));
    EXPECT_THAT(text, HasSubstr("onceward_outbox_oldest_seconds{group=\"billing\"} 7\n"));
    EXPECT_THAT(text, HasSubstr("onceward_outbox_leader" + database + "} 1\n"));
    EXPECT_THAT(text, HasSubstr("onceward_outbox_sent_total" + database + "} 12\n"));
    EXPECT_THAT(text,
                HasSubstr("onceward_outbox_failures_total" + database + ",kind=\"record\"} 3\n"));
    EXPECT_THAT(text,
                HasSubstr("onceward_outbox_failures_total" + database + ",kind=\"topic\"} 0\n"));
    EXPECT_THAT(text, HasSubstr("onceward_outbox_held_keys" + database + "} 1\n"));
    EXPECT_THAT(text, HasSubstr("onceward_outbox_held_topics" + database + "} 0\n"));
}

// What every scraper asks of the format, line by line.
TEST(Metrics, EveryLineIsOfTheTextFormatAndEveryFamilyStandsOnce) {
    static const std::regex comment(R"(# (HELP|TYPE) [a-z_]+ .+)");
    static const std::regex sample(
        R"([a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? -?[0-9.e+]+)");
    std::istringstream lines(metrics_text(one_worker()));
    std::set<std::string> seen;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("#")) {
            EXPECT_TRUE(std::regex_match(line, comment)) << line;
        } else {
            EXPECT_TRUE(std::regex_match(line, sample)) << line;
        }
        EXPECT_TRUE(seen.insert(line.substr(0, line.rfind(' '))).second) << line;
        EXPECT_THAT(line, Not(HasSubstr("offset=")));
    }
    EXPECT_GT(seen.size(), 30U);
}

TEST(Metrics, ReloadsAreCountedByTheirResult) {
    ProcessStatus process = one_worker();
    EXPECT_THAT(metrics_text(process), Not(HasSubstr("onceward_reload")));
    process.reload.emplace();
    process.reload->applied = 3;
    process.reload->refused = 2;
    EXPECT_THAT(metrics_text(process), HasSubstr("onceward_reloads_total{result=\"applied\"} 3\n"));
    EXPECT_THAT(metrics_text(process), HasSubstr("onceward_reloads_total{result=\"refused\"} 2\n"));
    EXPECT_THAT(metrics_text(process), Not(HasSubstr("onceward_reload_last_success")));
    process.reload->last_success = std::chrono::system_clock::time_point(1700000000s);
    EXPECT_THAT(metrics_text(process),
                HasSubstr("onceward_reload_last_success_timestamp_seconds 1700000000\n"));
}

TEST(Metrics, RoutesAreCountedByStatus) {
    ProcessStatus process;
    RouteTraffic orders;
    orders.route = "POST /orders/{id}";
    orders.statuses = {{201, 5}, {409, 2}};
    orders.replayed = 3;
    orders.under_way = 7;
    orders.full = 4;
    orders.times.observe(0.002);
    orders.times.observe(99);
    orders.times.sum = 0.5;
    RouteTraffic none;
    none.statuses = {{404, 1}};
    process.routes = {orders, none};
    process.server = ServerCounts{.open = 9, .full = 2, .closed_idle = 3, .closed_slow = 1};
    process.upstream_calls["POST /orders/{id}"] = 5;
    process.front_door.emplace("connection refused");
    const std::string text = metrics_text(process);
    const std::string route = "{route=\"POST /orders/{id}\"";
    EXPECT_THAT(text, HasSubstr("onceward_http_requests_total" + route + ",status=\"201\"} 5\n"));
    EXPECT_THAT(text, HasSubstr("onceward_http_requests_total{route=\"\",status=\"404\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("onceward_http_replayed_total" + route + "} 3\n"));
    EXPECT_THAT(text, HasSubstr("onceward_http_seconds_total" + route + "} 0.5\n"));
    EXPECT_THAT(text, HasSubstr("onceward_http_postgres_connected 0\n"));
    const std::string bucket = "onceward_http_request_seconds_bucket" + route + ",le=";
    EXPECT_THAT(text, HasSubstr(bucket + "\"0.0025\"} 1\n"));
    EXPECT_THAT(text, HasSubstr(bucket + "\"30\"} 1\n"));
    EXPECT_THAT(text, HasSubstr(bucket + "\"+Inf\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("onceward_http_requests_under_way" + route + "} 7\n"));
    EXPECT_THAT(text, HasSubstr("onceward_http_route_full_total" + route + "} 4\n"));
    EXPECT_THAT(text, HasSubstr("onceward_http_upstream_calls" + route + "} 5\n"));
    EXPECT_THAT(text, HasSubstr("onceward_http_connections 9\n"));
    EXPECT_THAT(text, HasSubstr("onceward_http_connections_full_total 2\n"));
    EXPECT_THAT(text, HasSubstr("onceward_http_connections_closed_total{reason=\"idle\"} 3\n"));
}

}  // namespace
}  // namespace onceward
