// The admin port's page: what it asks PostgreSQL, under the worker's role, and whom that delays.

#include "cli/page/page.h"

#include <future>

#include "cli/admin/admin_server.h"
#include "cli/configuration/load.h"
#include "tests/integration/postgres/operator_scene.h"
#include "tests/support/eventually.h"

namespace onceward::operator_tests {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

// With the topic's partitions: of those the brokers, who are away, are not asked.
ProcessStatus process() {
    Worker::Status status;
    for (const int partition : {0, 1}) {
        status.lag.emplace_back().partition = {"orders", Partition{partition}};
    }
    ProcessStatus made;
    made.workers.push_back({0, status, ""});
    return made;
}

class PageTest : public Operator {
  protected:
    PageTest() {
        const std::string text =
            "group: billing\nkafka: {bootstrap_servers: 'localhost:1'}\n"
            "postgres: {dsn: '${DSN}', schema: " +
            schema_.name() +
            "}\ntopics:\n  - name: orders\n    format: json\n"
            "    key: {sources: [{field: /id}]}\n"
            "    ledger: {name: orders}\n"
            "    sink: {table: orders, columns: {id: /id}}\n";
        LoadOptions options;
        options.environment = [this](const std::string&) {
            return std::optional(schema_.server().worker_dsn);
        };
        LoadResult loaded = load_configuration_text(text, "onceward.yaml", options);
        EXPECT_TRUE(loaded.usable());
        configuration_ = std::move(loaded.configuration);
        show();
    }
    ~PageTest() override { page_->stop(); }

    void show() {
        page_.reset();
        current_ = std::make_unique<CurrentConfiguration>(configuration_);
        page_ = std::make_unique<AdminPage>(*current_, process);
    }

    HttpResponse get(const std::string& target, const std::string& host = "localhost:9464") {
        auto promise = std::make_shared<std::promise<HttpResponse>>();
        const bool taken = page_->handle(
            {.method = "GET", .target = target, .headers = {{"Host", host}}, .body = ""},
            [promise](HttpResponse response) { promise->set_value(std::move(response)); });
        if (!taken) return {.status = 0};
        auto future = promise->get_future();
        EXPECT_EQ(future.wait_for(30s), std::future_status::ready) << target;
        return future.get();
    }
    json ask(const std::string& target) {
        const HttpResponse response = get(target);
        EXPECT_EQ(response.status, 200) << target << ": " << response.body;
        return json::parse(response.body);
    }
    void letter(int offset, const std::string& reason, const std::string& payload) {
        database().execute(
            "INSERT INTO dead_letters (consumer_group, topic, identity, partition, record_offset, "
            "payload, key_text, error_class, reason, attempts) VALUES ('billing', 'orders', 'T', "
            "0, $1, convert_to($2, 'UTF8'), convert_to('k', 'UTF8'), 'invalid', $3, 1)",
            {std::to_string(offset), payload, reason});
    }

    Configuration configuration_;
    std::unique_ptr<CurrentConfiguration> current_;
    std::unique_ptr<AdminPage> page_;
};

TEST_F(PageTest, TheOverviewHasTheGroupsTopicsWithTheirTotals) {
    fence(0, 7);
    fence(1, 9);
    database().execute("UPDATE fences SET applied = 5, duplicates = 1");
    letter(1, "no", "{}");
    const json found = ask("/api/overview");
    EXPECT_TRUE(found["problems"].empty()) << found["problems"];
    ASSERT_EQ(found["topics"].size(), 1U);
    EXPECT_EQ(found["topics"][0]["topic"], "orders");
    EXPECT_EQ(found["topics"][0]["totals"]["applied"], 10);
    EXPECT_EQ(found["topics"][0]["open_letters"], 1);
    EXPECT_EQ(found["topics"][0]["partitions"], 2);
    EXPECT_EQ(ask("/api/partitions?topic=orders")["partitions"][1]["next_offset"], 9);
    EXPECT_TRUE(ask("/api/partitions?topic=other")["partitions"].empty());
}

TEST_F(PageTest, AKeyIsToldAsExplainTellsIt) {
    claim(1, uuid_of("field:/id", "k-9"), 8);
    const json found = ask("/api/key?key=k-9");
    EXPECT_EQ(found["servers"][0]["applied"], true);
    EXPECT_EQ(found["servers"][0]["claims"][0]["topic"], "orders");
    EXPECT_EQ(found["sinks"]["orders"], "table orders");
    EXPECT_EQ(ask("/api/key?key=other")["servers"][0]["applied"], false);
    EXPECT_EQ(get("/api/key").status, 400);
    EXPECT_EQ(get("/api/key?key=x&digest=1").status, 400);
}

TEST_F(PageTest, DeadLettersOfOneCauseAreOneRowWhateverTheirValues) {
    letter(1, "column amount: \"1x\" is no number", R"({"id": "a"})");
    letter(2, "column amount: \"twelve\" is no number", R"({"id": "b"})");
    letter(3, "field /id is missing", "{}");
    const json groups = ask("/api/letters")["groups"];
    ASSERT_EQ(groups.size(), 2U) << groups;
    EXPECT_EQ(groups[0]["count"], 2);
    EXPECT_EQ(groups[0]["said"], "column amount: … is no number");
    const json list =
        ask("/api/letters/list?topic=orders&class=invalid&said="
            "column+amount:+%E2%80%A6+is+no+number")["letters"];
    ASSERT_EQ(list.size(), 2U) << list;
    EXPECT_EQ(list[0]["offset"], 2);  // the newest first
    EXPECT_EQ(list[0]["payload"], R"({"id": "b"})");
    const std::string number = list[1]["number"].dump();
    EXPECT_EQ(ask("/api/letters/list?number=" + number)["letters"], json::array({list[1]}));
    database().execute("UPDATE dead_letters SET resolved_at = now() WHERE record_offset = 3");
    EXPECT_EQ(ask("/api/letters/list")["letters"].size(), 2U);
    EXPECT_EQ(ask("/api/letters/list?state=all")["letters"].size(), 3U);
}

TEST_F(PageTest, DeadLettersHavePages) {
    database().execute(
        "INSERT INTO dead_letters (consumer_group, topic, identity, partition, record_offset, "
        "error_class, reason, attempts) SELECT 'billing', 'orders', 'T', 0, n, 'invalid', 'no', 1 "
        "FROM generate_series(1, 51) AS n");
    const json first = ask("/api/letters/list");
    ASSERT_EQ(first["letters"].size(), 50U);
    EXPECT_EQ(first["more"], true);
    const std::string last = first["letters"][49]["number"].dump();
    const json second = ask("/api/letters/list?before=" + last);
    EXPECT_EQ(second["letters"].size(), 1U);
    EXPECT_EQ(second["more"], false);
}

TEST_F(PageTest, WhatPeopleDidIsListed) {
    database().execute(
        "INSERT INTO topic_pauses (consumer_group, topic, reason) "
        "VALUES ('billing', 'orders', 'bank is down')");
    const json acts = ask("/api/acts")["acts"];
    ASSERT_EQ(acts.size(), 1U) << acts;
    EXPECT_EQ(acts[0]["act"], "pause");
    EXPECT_EQ(acts[0]["reason"], "bank is down");
}

TEST_F(PageTest, LedgersRebalancesAndOptionsAreThere) {
    fence(0, 7);
    EXPECT_EQ(ask("/api/ledgers")["ledgers"][0]["ledger"], "orders");
    EXPECT_EQ(ask("/api/rebalances")["takes"][0]["owner"], "host");
    const HttpResponse options = get("/api/configuration");
    EXPECT_THAT(options.body, HasSubstr(R"("name":"DSN")"));
    EXPECT_THAT(options.body, testing::Not(HasSubstr(schema_.server().worker_dsn)));
    EXPECT_EQ(get("/api/other").status, 404);
}

TEST_F(PageTest, AnotherNameOfTheMachineGetsNothing) {
    EXPECT_EQ(get("/api/overview", "evil.example").status, 421);
    EXPECT_EQ(get("/", "evil.example").status, 421);
    EXPECT_EQ(get("/metrics").status, 0) << "not the page's";
}

// A proxy that ends TLS may keep the name that the browser asked for.
TEST_F(PageTest, WithATokenConfiguredAnyNameIsAnswered) {
    configuration_.admin_access.operate.tokens = {{"alice", Secret("0123456789-operate")}};
    show();
    EXPECT_EQ(get("/", "onceward.example").status, 200);
    EXPECT_EQ(get("/api/overview", "onceward.example").status, 200);
}

TEST_F(PageTest, AServerThatIsAwayIsPartOfTheAnswer) {
    configuration_.postgres.dsn = Secret("host=127.0.0.1 port=1");
    show();
    const json found = ask("/api/overview");
    ASSERT_EQ(found["problems"].size(), 1U);
    EXPECT_EQ(found["problems"][0]["database"], "postgres");
    EXPECT_EQ(found["topics"][0]["topic"], "orders");
}

TEST_F(PageTest, AnswersServeAllWhoAskWithinASecond) {
    fence(0, 7);
    const HttpResponse first = get("/api/partitions");
    database().execute("UPDATE fences SET next_offset = 8");
    EXPECT_EQ(get("/api/partitions").body, first.body);
}

TEST_F(PageTest, AQuestionThatWaitsKeepsNoVerdictFromItsAnswer) {
    AdminServer::Sources sources{[] { return HealthVerdict{}; }, [] { return HealthVerdict{}; },
                                 [] { return std::string("metric 1\n"); }};
    sources.page = [this](const HttpRequest& request, const HttpServer::Answer& answer) {
        return page_->handle(request, answer);
    };
    const AdminServer server({"127.0.0.1", 0}, std::move(sources));
    Database other(schema_.server().dsn);
    other.execute("BEGIN; LOCK TABLE " + schema_.name() + ".fences");
    auto asked = std::async(std::launch::async, [&] {
        return ask_admin_port(server.address(), "/api/partitions", 30s).body;
    });
    ASSERT_TRUE(support::eventually(30s, [&] {
        return database().number("SELECT count(*) FROM pg_locks WHERE NOT granted") > 0;
    }));
    EXPECT_EQ(ask_admin_port(server.address(), "/livez", 1s).status, 200);
    EXPECT_EQ(ask_admin_port(server.address(), "/metrics", 1s).body, "metric 1\n");
    other.execute("ROLLBACK");
    EXPECT_TRUE(json::parse(asked.get())["problems"].empty());
    page_->stop();  // before the server ends
}

}  // namespace
}  // namespace onceward::operator_tests
