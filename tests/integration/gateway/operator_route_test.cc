// The operator's commands about keys of routes: what a request has left is explained, taken out and
// imported under the route's name.

#include "tests/integration/gateway/route_scene.h"

namespace onceward::operator_tests {
namespace {

using RouteKeys = RouteScene;

const std::string orders = "POST /orders/{id}";
const std::string charges = "POST /charges";

TEST_F(RouteKeys, ASinkRoutesKeyIsExplainedWithinItsTenant) {
    ASSERT_EQ(order("k").status, 204);
    const auto explain = [&](const std::string& key, std::vector<std::string> more) {
        more.insert(more.begin(), {"explain", key, "--route", orders});
        return run(std::move(more));
    };
    for (const char* key : {"k", "\"k\""}) {
        const Outcome found = explain(key, {"--tenant", "acme"});
        EXPECT_EQ(found.exit_code, 0) << found.output;
        EXPECT_THAT(found.output, HasSubstr(" from a request to POST /orders/{id}; key kind "
                                            "header:Idempotency-Key, ledger orders generation 1, "
                                            "fingerprint "));
        EXPECT_THAT(found.output, HasSubstr("result: done"));
    }
    const auto json = explain("k", {"--tenant", "acme", "--json"}).json();
    EXPECT_EQ(json["claims"][0]["route"], orders);
    EXPECT_EQ(json["claims"][0]["group"], "shop");
    EXPECT_FALSE(json["claims"][0].contains("offset"));
    EXPECT_EQ(explain("k", {"--tenant", "other"}).exit_code, 3);
    const Outcome whose = explain("k", {});
    EXPECT_EQ(whose.exit_code, 64);
    EXPECT_THAT(whose.output, HasSubstr("route POST /orders/{id} belong to tenants; name one"));
    const Outcome without =
        onceward({"explain", "k", "--route", orders, "--tenant", "acme", "--dsn",
                  schema_.server().worker_dsn, "--schema", schema_.name()});
    EXPECT_EQ(without.exit_code, 0) << without.output;
}

TEST_F(RouteKeys, AKeyAloneIsLookedForInAllRoutes) {
    ASSERT_EQ(order("k").status, 204);
    ASSERT_EQ(charge("k", "yes").status, 201);
    const Outcome found = run({"explain", "k", "--tenant", "acme"});
    EXPECT_EQ(found.exit_code, 0) << found.output;
    EXPECT_THAT(found.output, HasSubstr("from a request to POST /orders/{id}"));
    EXPECT_THAT(found.output, HasSubstr("POST /charges"));
    const Outcome whose = run({"explain", "k"});
    EXPECT_EQ(whose.exit_code, 64) << whose.output;
    EXPECT_THAT(whose.output, HasSubstr("route POST /charges"));
}

TEST_F(RouteKeys, AnUpstreamRoutesKeyTellsHowItsCallEnded) {
    ASSERT_EQ(charge("paid", "yes").status, 201);
    ASSERT_EQ(charge("poor", "no").status, 402);
    ASSERT_EQ(charge("freed", "busy").status, 503);
    ASSERT_EQ(charge("lost", "yes").status, 201);
    const auto explain = [&](const std::string& key) {
        return run({"explain", key, "--route", charges, "--tenant", "acme"});
    };
    const Outcome done = explain("paid");
    EXPECT_EQ(done.exit_code, 0) << done.output;
    EXPECT_THAT(done.output, HasSubstr("with status 201 from a request to POST /charges; attempts "
                                       "1, key kind header:Idempotency-Key, ledger charges"));
    EXPECT_THAT(done.output, HasSubstr("result: done, status 201"));
    EXPECT_THAT(explain("poor").output, HasSubstr("failed for good"));
    EXPECT_EQ(explain("poor").exit_code, 3);
    EXPECT_THAT(explain("freed").output, HasSubstr("released since"));
    EXPECT_EQ(explain("freed").exit_code, 3);
    // As of a process that is at it, and then of one that was killed.
    const std::string back =
        "UPDATE leases SET state = 'in_flight', ended_at = NULL, lease_until "
        "= clock_timestamp() + interval '1 hour' * $1 WHERE status = 201";
    database().execute(back, {"1"});
    EXPECT_THAT(explain("lost").output, HasSubstr("in flight since"));
    database().execute(back, {"-1"});
    EXPECT_THAT(explain("lost").output, HasSubstr("whether it took effect is not known"));
    EXPECT_EQ(explain("lost").exit_code, 3);
}

TEST_F(RouteKeys, AForgottenOneIsCarriedOutAgain) {
    ASSERT_EQ(charge("k", "yes").status, 201);
    ASSERT_EQ(order("k").status, 204);
    const auto forget = [&](const std::string& route, std::vector<std::string> more) {
        more.insert(more.begin(), {"forget", "k", "--route", route, "--tenant", "acme", "--reason",
                                   "it was a test"});
        return run_as_owner(std::move(more));
    };
    const Outcome plan = forget(charges, {});
    EXPECT_EQ(plan.exit_code, 0) << plan.output;
    EXPECT_THAT(plan.output, HasSubstr("CARRIED OUT again\nnothing was changed"));
    EXPECT_TRUE(charge("k", "yes").headers.contains("idempotent-replayed"));
    EXPECT_EQ(forget(charges, {"--yes", "--json"}).json()["evicted"], 1);
    EXPECT_EQ(forget(orders, {"--yes", "--json"}).json()["evicted"], 1);
    EXPECT_EQ(database().number("SELECT count(*) FROM evictions WHERE reason = 'it was a test'"),
              2);
    EXPECT_THAT(run({"explain", "k", "--route", charges, "--tenant", "acme"}).output,
                HasSubstr("taken out of ledger charges"));
    EXPECT_FALSE(charge("k", "yes").headers.contains("idempotent-replayed"));
    EXPECT_FALSE(order("k").headers.contains("idempotent-replayed"));
    EXPECT_EQ(upstream_.calls().size(), 2U);
    EXPECT_EQ(rows(), 2);
    EXPECT_EQ(forget(charges, {"--ledger", "orders", "--yes"}).exit_code, 3);
}

TEST_F(RouteKeys, ARouteThatIsNotThereNamesThoseThatAre) {
    const auto explain = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"explain", "k"});
        return run(std::move(more));
    };
    const Outcome unknown = explain({"--route", "POST /order"});
    EXPECT_EQ(unknown.exit_code, 64);
    EXPECT_THAT(unknown.output, HasSubstr("has no route POST /order; it has POST /orders/{id}, "
                                          "POST /charges, POST /events"));
    const Outcome topic = explain({"--route", "POST /events"});
    EXPECT_EQ(topic.exit_code, 64);
    EXPECT_THAT(topic.output, HasSubstr("leads to topic events"));
    EXPECT_EQ(explain({}).exit_code, 64);
    EXPECT_NE(explain({"--route", orders, "--topic", "events"}).exit_code, 0);
    EXPECT_EQ(run({"import", "--query", "SELECT 1", "--route", "POST /order"}).exit_code, 64);
    for (const std::string route : {"POST /order", "POST /events"}) {
        EXPECT_EQ(run_as_owner({"forget", "--tenant", "acme", "--route", route, "--reason", "r"})
                      .exit_code,
                  64)
            << "it would be the results of no route, or of all";
    }
}

TEST_F(RouteKeys, ATenantsResultsAreErasedInTheLedgerOfTheRouteThatIsNamed) {
    ASSERT_EQ(charge("k", "yes").status, 201);
    ASSERT_EQ(order("k").status, 204);
    const auto erase = [&](const std::string& route, const std::string& ledger) {
        std::vector<std::string> words{"forget",   "--tenant", "acme",  "--route", route,
                                       "--reason", "asked to", "--yes", "--json"};
        if (!ledger.empty()) words.insert(words.end(), {"--ledger", ledger});
        return run_as_owner(std::move(words));
    };
    EXPECT_EQ(erase(orders, "charges").exit_code, 3);
    const nlohmann::json done = erase(orders, "").json();
    EXPECT_EQ(done["results"], 1) << done;
    ASSERT_EQ(done["ledgers"].size(), 1U) << done;
    EXPECT_EQ(done["ledgers"][0]["ledger"], "orders");
    EXPECT_EQ(order("k").status, 410);
    EXPECT_EQ(charge("k", "yes").status, 201) << "another route's are kept";
    EXPECT_EQ(send("GET", "/charge-keys", "k").status, 200);
    EXPECT_EQ(erase(charges, "").json()["results"], 1);
    EXPECT_EQ(charge("k", "yes").status, 410);
    EXPECT_EQ(send("GET", "/charge-keys", "k").status, 410);
}

TEST_F(RouteKeys, OfSeveralServersItIsAskedOfTheOneThatRoutesAreOn) {
    ASSERT_EQ(order("k").status, 204);
    std::ofstream(file_, std::ios::app)
        << "databases:\n  - {name: east, dsn: host=nowhere}\n"
           "topics:\n  - name: refunds\n    database: east\n"
           "    key: {preset: idempotency-key}\n    sink: {table: refunds, columns: {id: /id}}\n";
    const auto explain = [&](const std::string& route) {
        return run({"explain", "k", "--route", route, "--tenant", "acme"});
    };
    EXPECT_EQ(explain(orders).exit_code, 0) << explain(orders).output;
    EXPECT_THAT(explain("POST /order").output, HasSubstr("it has POST /orders/{id}"));
}

TEST_F(RouteKeys, AnImportedOneIsCarriedOutNoMore) {
    const std::filesystem::path keys =
        std::filesystem::path(testing::TempDir()) / support::unique_name("keys");
    // Some as a header has them.
    std::ofstream(keys) << "a\nb c\n\"in \\\"quotes\\\"\"\n\"wrong\n"
                        << std::string(300, 'x') << "\n\xC3\xA4\n";
    std::vector<std::string> command{"import", "--file",   keys.string(), "--route",
                                     orders,   "--tenant", "acme"};
    EXPECT_THAT(run(command).output, HasSubstr("would then get 410 `answer-gone`"));
    command.insert(command.end(), {"--yes", "--json"});
    const Outcome done = run(command);
    EXPECT_EQ(done.exit_code, 0) << done.output;
    std::filesystem::remove(keys);
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_1_1"), 3) << done.output;
    EXPECT_THAT(done.output, HasSubstr("\"refused\": 3"));
    const std::string longest =
        "SELECT longest_request::text FROM ledger_feeds WHERE topic = '" + orders + "'";
    const std::string imported = database().value(longest);
    EXPECT_EQ(order("a").status, 410);
    EXPECT_EQ(order("\"b c\"").status, 410);
    EXPECT_EQ(order("\"in \\\"quotes\\\"\"").status, 410);
    EXPECT_EQ(order("d").status, 204);
    EXPECT_EQ(rows(), 1);
    EXPECT_EQ(database().value(longest), imported) << "the front door makes the same feed";
    EXPECT_THAT(run({"explain", "b c", "--route", orders, "--tenant", "acme"}).output,
                HasSubstr("from an import"));
    const Outcome leases =
        run({"import", "--query", "SELECT 1", "--route", charges, "--tenant", "acme"});
    EXPECT_EQ(leases.exit_code, 64);
    EXPECT_THAT(leases.output, HasSubstr("claimed with leases"));
}

}  // namespace
}  // namespace onceward::operator_tests
