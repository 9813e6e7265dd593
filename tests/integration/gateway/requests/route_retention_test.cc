// `onceward retention` and the job itself on the ledgers of routes: what has expired goes, what is
// in flight stays.

#include "cli/admin/group_totals.h"
#include "cli/admin/verdicts.h"
#include "tests/integration/gateway/route_scene.h"
#include "tests/support/eventually.h"

namespace onceward::operator_tests {
namespace {

class RouteRetention : public RouteScene {
  protected:
    // What the command tells of that ledger, after what the step logs.
    static nlohmann::json ledger_in(const Outcome& outcome, const std::string& name) {
        const std::size_t begin = outcome.output.find("[\n");
        if (begin == std::string::npos) return {};
        for (const auto& ledger : nlohmann::json::parse(outcome.output.substr(begin))) {
            if (ledger["ledger"] == name) return ledger;
        }
        return {};
    }
    // All that was claimed so far was claimed three days ago, and nobody serves the routes.
    void three_days_pass() {
        gateway_.reset();
        database().execute(
            "SELECT rotate_ledger(ledger, 1) FROM ledgers WHERE name = 'orders'; "
            "UPDATE generations SET created_at = clock_timestamp() - interval '3 days', sealed_at "
            "= clock_timestamp() - interval '3 days' WHERE sealed_at IS NOT NULL; "
            "UPDATE leases SET ended_at = ended_at - interval '3 days', begun_at = begun_at - "
            "interval '3 days', lease_until = lease_until - interval '3 days'");
    }
    std::int64_t generations(const std::string& ledger) {
        return database().number(
            "SELECT count(*) FROM generations JOIN ledgers USING (ledger) WHERE name = '" + ledger +
            "'");
    }
};

TEST_F(RouteRetention, AStepLetsGoOfWhatRequestsClaimedAndKeepsWhatIsInFlight) {
    ASSERT_EQ(order("k").status, 204);
    ASSERT_EQ(charge("paid", "yes").status, 201);
    ASSERT_EQ(charge("freed", "busy").status, 503);
    ASSERT_EQ(charge("lost", "no").status, 402);
    database().execute("UPDATE leases SET state = 'in_flight', ended_at = NULL WHERE status = 402");
    // More than one statement deletes.
    database().execute(
        "INSERT INTO leases (ledger, digest, owner_token, lease_until, attempts, source, identity, "
        "partition, record_offset, state, ended_at) SELECT ledger, gen_random_uuid(), owner_token, "
        "lease_until, 1, source, identity, 0, 0, 'done', ended_at FROM leases, "
        "generate_series(1, 4500) WHERE status = 201");
    three_days_pass();

    const Outcome shown = run({"retention", "--json"});
    EXPECT_EQ(shown.exit_code, 0) << shown.output;
    EXPECT_GT(ledger_in(shown, "orders")["held_back_seconds"], 47 * 3600);
    EXPECT_EQ(ledger_in(shown, "orders")["held_back_by"][0]["route"], "POST /orders/{id}");
    EXPECT_GT(ledger_in(shown, "charges")["held_back_seconds"], 47 * 3600);
    EXPECT_EQ(ledger_in(shown, "charges")["leases_waiting"], 1);
    const std::string text = run({"retention"}).output;
    EXPECT_THAT(text, HasSubstr("requests to POST /orders/{id} of group shop: passed up to"));
    EXPECT_THAT(text, HasSubstr("0 under a lease, 1 whose lease has ended"));

    const Outcome one = run({"retention", "--run-once", "--ledger", "orders", "--json"});
    EXPECT_EQ(ledger_in(one, "orders")["expired"], 1) << one.output;
    EXPECT_EQ(ledger_in(one, "orders")["tables_dropped"], 0) << one.output;
    EXPECT_TRUE(ledger_in(one, "charges").is_null()) << one.output;
    EXPECT_EQ(generations("orders"), 1);
    const std::string statements = "SELECT evictions FROM ledgers WHERE name = 'charges'";
    const std::int64_t before = database().number(statements);
    const Outcome rest = run({"retention", "--run-once"});
    EXPECT_EQ(rest.exit_code, 0) << rest.output;
    EXPECT_THAT(rest.output, HasSubstr("leases deleted 4502"));
    EXPECT_EQ(database().number(statements) - before, 3) << "of 2000 rows at most each";
    EXPECT_EQ(database().value("SELECT string_agg(state, ' ') FROM leases"), "in_flight");
}

// One job looks after the ledgers of routes of both kinds.
TEST_F(RouteRetention, TheMetricsTellWhatTheProcessDidForAllItsRoutes) {
    ASSERT_EQ(order("k").status, 204);
    ASSERT_EQ(charge("paid", "yes").status, 201);
    three_days_pass();
    serve();
    ProcessStatus status;
    EXPECT_TRUE(support::eventually(std::chrono::seconds(20), [&] {
        status = {};
        gateway_->complete(status);
        return status.retention.size() == 1 && status.retention[0].counts.leases == 1 &&
               status.retention[0].counts.expired == 1 && status.retention[0].counts.last_success;
    }));
    const std::string text = metrics_text(status);
    const std::string database = "{database=\"postgres\"";
    EXPECT_THAT(text, HasSubstr("onceward_retention_leases_total" + database + "} 1\n"));
    EXPECT_THAT(text, HasSubstr("onceward_retention_failures_total" + database + "} 0\n"));
    EXPECT_THAT(text, HasSubstr("onceward_retention_generations_total" + database +
                                ",step=\"expired\"} 1\n"));
}

// And what their ledgers keep, as those of topics.
TEST_F(RouteRetention, TheGroupsLedgersAreThoseOfItsRoutesToo) {
    ASSERT_EQ(order("k").status, 204);
    ASSERT_EQ(charge("paid", "yes").status, 201);
    GroupTotals totals(schema_.worker(), "shop", std::chrono::seconds(10));
    ProcessStatus status;
    status.group = "shop";
    ASSERT_TRUE(support::eventually(std::chrono::seconds(20), [&] {
        status.durable = totals.get();
        return status.durable.has_value();
    }));
    const std::string text = metrics_text(status);
    for (const char* ledger : {"orders", "charges"}) {
        const std::string labels = "{group=\"shop\",ledger=\"" + std::string(ledger) + "\"} ";
        for (const char* name : {"claims", "bytes", "held_back_seconds"}) {
            EXPECT_THAT(text, HasSubstr(std::string("onceward_ledger_") + name + labels));
        }
        EXPECT_THAT(text, HasSubstr("onceward_ledger_takes_requests" + labels + "1\n"));
    }
    EXPECT_THAT(text, HasSubstr("onceward_ledger_claims{group=\"shop\",ledger=\"charges\"} 1\n"));
}

TEST_F(RouteRetention, ARequestsClaimIsKeptForItsRetention) {
    ASSERT_EQ(order("k").status, 204);
    ASSERT_EQ(charge("paid", "yes").status, 201);
    gateway_.reset();
    database().execute("SELECT rotate_ledger(ledger, 1) FROM ledgers WHERE name = 'orders'");
    const Outcome step = run({"retention", "--run-once", "--json"});
    EXPECT_EQ(ledger_in(step, "orders")["looked"], true) << step.output;
    EXPECT_EQ(ledger_in(step, "orders")["expired"], 0);
    EXPECT_EQ(ledger_in(step, "charges")["leases_deleted"], 0);
    EXPECT_EQ(generations("orders"), 2);
    EXPECT_EQ(run({"retention", "--run-once", "--ledger", "other"}).exit_code, 3);
}

}  // namespace
}  // namespace onceward::operator_tests
