// The list of metrics against its page, and against what a process gives.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "cli/admin/metric_list.h"
#include "cli/admin/metrics_page.h"
#include "cli/admin/verdicts.h"
#include "tests/support/given_metrics.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

// A process in which everything has happened that a metric tells of.
ProcessStatus complete_process() {
    Worker::Status worker;
    worker.counts.topics["orders"];
    worker.counts.latencies["orders"];
    worker.counts.leases["orders"];
    worker.lag.emplace_back().partition = {"orders", Partition{0}};
    worker.lag.back().lag = 1;
    ProcessStatus process;
    process.group = "billing";
    process.workers.push_back({0, worker, ""});
    RetentionState& retention = process.retention.emplace_back();
    retention.counts.failed_ledgers["orders"] = 1;
    retention.counts.last_success = std::chrono::system_clock::time_point(1s);
    process.relays.emplace_back();
    process.routes.push_back({.route = "POST /orders", .statuses = {{201, 1}}});
    process.front_door = FrontDoorState{.postgres_failure = "", .timed_out = {{"POST /orders", 1}}};
    process.server.emplace();
    process.upstream_calls["POST /orders"] = 1;
    process.registries.emplace_back().name = "main";
    process.traces.emplace();
    process.reload.emplace().last_success = std::chrono::system_clock::time_point(1s);
    process.resident_bytes = 1;
    process.memory_budget = 1;
    DurableTotals& durable = process.durable.emplace();
    durable.topics["orders"];
    durable.open_letters.emplace()["orders"].by_class["sink"] = 1;
    durable.holders["orders"].group = "billing";
    LedgerView& ledger = durable.ledgers.emplace_back();
    ledger.name = "orders";
    ledger.store = "lease";
    ledger.of_group = ledger.has_inbox = true;
    ledger.memory_begins = 1s;
    return process;
}

TEST(MetricList, ThePageInDocsIsWhatTheProgramPrints) {
    std::ifstream file(std::string(ONCEWARD_SOURCE_FOLDER) + "/docs/metrics.md");
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(page, metrics_page()) << "run: onceward config metrics > docs/metrics.md";
}

TEST(MetricList, AProcessGivesEachMetricOfItAndNoOther) {
    const auto given = support::given_metrics(metrics_text(complete_process()));
    std::set<std::string> listed;
    for (const MetricSpec& spec : metric_list) {
        EXPECT_TRUE(given.contains(std::string(spec.name))) << "nothing gives " << spec.name;
        listed.emplace(spec.name);
    }
    for (const auto& [name, metric] : given) EXPECT_TRUE(listed.contains(name)) << name;
}

TEST(MetricList, EachMetricHasTheTypeTheLabelsAndTheMeaningOfItsEntry) {
    const auto given = support::given_metrics(metrics_text(complete_process()));
    for (const MetricSpec& spec : metric_list) {
        const auto found = given.find(std::string(spec.name));
        ASSERT_NE(found, given.end()) << spec.name;
        EXPECT_EQ(support::difference(spec, found->second), "") << spec.name;
    }
}

TEST(MetricList, NamesFollowPrometheusAndStandOnce) {
    std::set<std::string_view> seen;
    for (const MetricSpec& spec : metric_list) {
        const std::string_view name = spec.name;
        EXPECT_TRUE(seen.insert(name).second) << name << " is there twice";
        EXPECT_TRUE(name.starts_with("onceward_") || name.starts_with("process_")) << name;
        EXPECT_EQ(spec.kind == MetricKind::counter, name.ends_with("_total")) << name;
        if (spec.unit == "seconds") {
            EXPECT_TRUE(name.find("_seconds") != name.npos) << name;
        }
        if (spec.unit == "bytes") {
            EXPECT_TRUE(name.ends_with("_bytes")) << name;
        }
        EXPECT_FALSE(spec.unit.empty() || spec.meaning.empty()) << name;
        EXPECT_EQ(spec.meaning.find('|'), spec.meaning.npos) << name << ": a table's cell ends";
    }
}

// Alerts and sums over processes would take the zeros of a front door for an idle worker.
TEST(MetricList, AFrontDoorAloneGivesNothingOfWorkers) {
    ProcessStatus process = complete_process();
    process.workers.clear();
    process.registries.clear();
    process.reload.reset();
    const auto given = support::given_metrics(metrics_text(process));
    EXPECT_TRUE(given.contains("onceward_http_requests_total"));
    for (const MetricSpec& spec : metric_list) {
        if (spec.given_by != GivenBy::workers || spec.name == "onceward_memory_budget_bytes") {
            continue;
        }
        EXPECT_FALSE(given.contains(std::string(spec.name))) << spec.name;
    }
}

}  // namespace
}  // namespace onceward
