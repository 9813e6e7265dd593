// What an operator does at the admin port: who is let in, what is done, and what the audit log says
// of it.

#include <gmock/gmock.h>
#include <httplib.h>

#include <csignal>
#include <filesystem>
#include <future>

#include "cli/admin/admin_server.h"
#include "cli/configuration/load.h"
#include "cli/operate/admin_acts.h"
#include "dedup/server/migration.h"
#include "tests/integration/postgres/operator_scene.h"
#include "tests/support/certificates.h"
#include "tests/support/kafka.h"
#include "tests/support/one_waits.h"

namespace onceward::operator_tests {
namespace {

using nlohmann::json;
using testing::ElementsAre;

constexpr const char* look_token = "0123456789-look";
constexpr const char* operate_token = "0123456789-operate";

class AdminActsTest : public Operator {
  protected:
    AdminActsTest() {
        cluster_.create_topic("orders", 2);
        server_ = std::make_unique<AdminServer>(
            ListenAddress{"127.0.0.1", 0},
            AdminServer::Sources{
                .live = [] { return HealthVerdict{}; },
                .ready = [] { return HealthVerdict{}; },
                .metrics = [] { return std::string("metric 1\n"); },
                .group = "billing",
                .access = access(),
                .act = admin_acts(current_, [this](const auto&) { return reload_; })});
    }
    AdminConfiguration access() {
        AdminConfiguration access;
        access.look.tokens = {{"grafana", Secret(look_token + std::string("-01"))}};
        access.operate.tokens = {{"alice", Secret(operate_token + std::string("-01"))}};
        return access;
    }
    Configuration configuration(const std::string& operator_dsn) {
        const std::string text =
            "group: billing\nkafka: {bootstrap_servers: '" + cluster_.bootstrap_servers() +
            "'}\npostgres: {dsn: '" + quoted(schema_.server().worker_dsn) + "', operator_dsn: '" +
            quoted(operator_dsn) + "', schema: " + schema_.name() +
            "}\ntopics:\n  - name: orders\n    format: json\n    key: {sources: [record_key]}\n"
            "    sink: {table: orders, columns: {id: /id}}\n";
        return usable_or_throw(load_configuration_text(text, "test.yaml"), "test.yaml");
    }
    static std::string quoted(std::string text) {
        for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 2) {
            text.insert(at, "'");
        }
        return text;
    }
    httplib::Result post(const std::string& path, const json& body,
                         const std::string& token = operate_token + std::string("-01")) {
        httplib::Client client("127.0.0.1", server_->address().port);
        httplib::Headers headers{{act_header, "1"}};
        if (!token.empty()) headers.emplace("Authorization", "Bearer " + token);
        return client.Post("/api/" + path, headers, body.dump(), "application/json");
    }
    json done(const std::string& path, const json& body) {
        const auto answer = post(path, body);
        EXPECT_EQ(answer->status, 200) << answer->body;
        return json::parse(answer->body);
    }
    std::string refused(const std::string& path, const json& body) {
        const auto answer = post(path, body);
        const json problem = json::parse(answer->body);
        return std::to_string(answer->status) + " " + problem["detail"].get<std::string>();
    }
    std::vector<std::string> acts(
        const std::string& columns = "who, role, way, act, target, reason, outcome") {
        std::vector<std::string> lines;
        for (const support::Row& row :
             database().execute("SELECT concat_ws('|', " + columns +
                                ") FROM audit_log WHERE way = 'admin port' ORDER BY entry")) {
            lines.push_back(row[0].value_or(""));
        }
        return lines;
    }
    void letter(std::int64_t offset) {
        database().execute(
            "INSERT INTO dead_letters (consumer_group, topic, identity, partition, record_offset, "
            "record_key, headers, payload, key_text, error_class, reason, attempts) VALUES "
            "('billing', 'orders', 'T', 1, $1, 'k', '[]', 'payload', 'k', 'sink', 'why', 1)",
            {std::to_string(offset)});
    }

    MockCluster cluster_;
    const CurrentConfiguration current_{configuration(schema_.server().dsn)};
    json reload_;  // what the process answers
    std::unique_ptr<AdminServer> server_;
};

TEST_F(AdminActsTest, AreForWhoMayOperateAlone) {
    const json body{{"topic", "orders"}, {"reason", "index"}};
    const auto without = post("pause", body, "");
    EXPECT_EQ(without->status, 401);
    EXPECT_EQ(without->get_header_value("WWW-Authenticate"), "Bearer realm=\"onceward\"");
    EXPECT_EQ(post("pause", body, operate_token + std::string("-02"))->status, 401);
    EXPECT_EQ(post("pause", body, look_token + std::string("-01"))->status, 403);
    EXPECT_EQ(database().number("SELECT count(*) FROM topic_pauses"), 0);
    EXPECT_THAT(acts(), ElementsAre());

    EXPECT_EQ(done("pause", body)["topic"], "orders");
    EXPECT_EQ(done("resume", {{"topic", "orders"}, {"reason", "built"}})["topic"], "orders");
    EXPECT_THAT(acts(), ElementsAre("alice|operate|admin port|pause|billing/orders|index|done",
                                    "alice|operate|admin port|resume|billing/orders|built|done"));
    EXPECT_THAT(acts("host(address), command"),
                ElementsAre(R"(127.0.0.1|POST /api/pause {"reason":"index","topic":"orders"})",
                            R"(127.0.0.1|POST /api/resume {"reason":"built","topic":"orders"})"));
}

TEST_F(AdminActsTest, WhatIsOpenStaysOpenAndTheRestNeedsARole) {
    httplib::Client client("127.0.0.1", server_->address().port);
    for (const char* open : {"/livez", "/readyz", "/metrics"}) {
        EXPECT_EQ(client.Get(open)->status, 200) << open;
    }
    EXPECT_EQ(client.Get("/api/caller")->status, 401);
    EXPECT_EQ(client.Get("/other")->status, 401) << "nobody learns what is there";
    client.set_bearer_token_auth(look_token + std::string("-01"));
    EXPECT_EQ(json::parse(client.Get("/api/caller")->body),
              (json{{"who", "grafana"}, {"role", "look"}, {"may_act", false}}));
    EXPECT_EQ(client.Get("/other")->status, 404);
    client.set_bearer_token_auth(operate_token + std::string("-01"));
    EXPECT_EQ(json::parse(client.Get("/api/caller")->body)["may_act"], true);
    EXPECT_EQ(client.Post("/api/pause", "{}", "application/json")->status, 403) << "no header";
    EXPECT_EQ(client.Post("/api/pause", {{act_header, "1"}}, "topic=orders", "text/plain")->status,
              415);
    EXPECT_EQ(
        client
            .Post("/api/pause", {{act_header, "1"}}, std::string(70'000, ' '), "application/json")
            ->status,
        413);
    EXPECT_EQ(client.Put("/api/pause", "{}", "application/json")->status, 405);
}

TEST_F(AdminActsTest, MetricsAreClosedIfTheConfigurationSaysSo) {
    AdminConfiguration closed = access();
    closed.metrics_need_look = true;
    const AdminServer server({"127.0.0.1", 0}, {.live = [] { return HealthVerdict{}; },
                                                .ready = [] { return HealthVerdict{}; },
                                                .metrics = [] { return std::string("m 1\n"); },
                                                .access = closed});
    httplib::Client client("127.0.0.1", server.address().port);
    EXPECT_EQ(client.Get("/livez")->status, 200);
    EXPECT_EQ(client.Get("/metrics")->status, 401);
    client.set_bearer_token_auth(look_token + std::string("-01"));
    EXPECT_EQ(client.Get("/metrics")->body, "m 1\n");
}

TEST_F(AdminActsTest, ARedriveIsPlannedFirstThenDone) {
    letter(1);
    letter(2);
    const json filter{{"topic", "orders"}, {"limit", 1}};
    const json planned = done("dlq/redrive", filter);
    EXPECT_EQ(planned["picked"], 1);
    EXPECT_EQ(planned["done"], false);
    EXPECT_THAT(acts(), ElementsAre()) << "a dry run";
    EXPECT_EQ(refused("dlq/redrive", {{"topic", "orders"}, {"dry_run", false}}),
              "400 `reason` has to be a text that is not empty.");
    json wanted = filter;
    wanted.update({{"reason", "fixed"}, {"dry_run", false}, {"numbers", planned["numbers"]}});
    const json redriven = done("dlq/redrive", wanted);
    EXPECT_EQ(redriven["delivered"], 1) << redriven;
    EXPECT_EQ(redriven["done"], true);
    EXPECT_EQ(support::Kafka(cluster_.bootstrap_servers()).read_all("orders", 2).size(), 1U);
    EXPECT_THAT(acts("act, reason, outcome, details ->> 'letters'"),
                ElementsAre("dlq redrive|fixed|began|1", "dlq redrive|fixed|done|1"));
}

TEST_F(AdminActsTest, ADiscardIsPlannedFirstThenDone) {
    letter(1);
    letter(2);
    EXPECT_EQ(done("dlq/discard", {{"topic", "orders"}})["picked"], 2);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 2);
    const json gone =
        done("dlq/discard", {{"topic", "orders"}, {"reason", "test data"}, {"dry_run", false}});
    EXPECT_EQ(gone["discarded"], 2);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 0);
    EXPECT_THAT(acts("who, act, reason, details ->> 'letters'"),
                ElementsAre("alice|dlq discard|test data|2"));
}

TEST_F(AdminActsTest, ADiscardLeavesALetterThatARedriveMarksMeanwhile) {
    letter(1);
    letter(2);
    support::Database redrive(schema_.server().dsn);
    redrive.execute("BEGIN; UPDATE " + schema_.name() +
                    ".dead_letters SET resolved_at = now(), redrive_began_at = now() "
                    "WHERE record_offset = 1");
    auto discarded = std::async(std::launch::async, [&] {
        return done("dlq/discard",
                    {{"topic", "orders"}, {"reason", "test data"}, {"dry_run", false}});
    });
    EXPECT_TRUE(support::one_waits_for(database(), redrive.pid()));
    redrive.execute("COMMIT");
    const json answer = discarded.get();
    EXPECT_EQ(answer["picked"], 2);
    EXPECT_EQ(answer["discarded"], 1);
    EXPECT_EQ(answer["left"], 1);
    EXPECT_EQ(database().value("SELECT record_offset FROM dead_letters"), "1");
}

TEST_F(AdminActsTest, AKeyIsForgotten) {
    claim(1, uuid_of("record_key", "k"), 7);
    const json key{{"topic", "orders"}, {"key", "k"}};
    const json planned = done("forget", key);
    EXPECT_EQ(planned["claims"].size(), 1U);
    EXPECT_EQ(planned["evicted"], 0);
    json wanted = key;
    wanted.update({{"reason", "applied wrongly"}, {"dry_run", false}});
    EXPECT_EQ(done("forget", wanted)["evicted"], 1);
    EXPECT_EQ(done("forget", key)["claims"].size(), 0U);
    EXPECT_THAT(acts("who, act, target, reason"),
                ElementsAre("alice|forget|ledger orders|applied wrongly"));
}

TEST_F(AdminActsTest, WhatIsMisspelledDoesNothing) {
    letter(1);
    EXPECT_EQ(refused("dlq/discard",
                      {{"topic", "orders"}, {"reason", "x"}, {"dry_run", false}, {"limits", 1}}),
              "400 There is no `limits` here.");
    EXPECT_EQ(refused("dlq/discard", {{"topic", "orders"}, {"limit", 1001}}),
              "400 `limit` has to be a whole number from 1 to 1000.");
    EXPECT_EQ(refused("dlq/discard", {{"topic", "orders"}, {"dry_run", "no"}}),
              "400 `dry_run` has to be true or false.");
    EXPECT_THAT(refused("pause", {{"topic", "order"}, {"reason", "x"}}), HasSubstr("400 "));
    EXPECT_EQ(refused("pause", {{"topic", "orders"}}),
              "400 `reason` has to be a text that is not empty.");
    EXPECT_EQ(refused("pause", json::array()), "400 The body has to be a JSON object.");
    EXPECT_EQ(refused("resume", {{"topic", "orders"}}), "409 The topic is not paused.");
    EXPECT_EQ(refused("drop", {{"topic", "orders"}}), "404 There is no /api/drop here.");
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 1);
    EXPECT_THAT(acts(), ElementsAre());
}

TEST_F(AdminActsTest, AReloadIsInTheAuditLogWithWhatBecameOfIt) {
    reload_ = {{"result", "applied"}, {"refusal", ""}, {"consequences", json::array()}};
    EXPECT_EQ(done("reload", {{"reason", "one topic more"}})["result"], "applied");
    reload_ = {{"result", "refused"}, {"refusal", "workers: it is another value."}};
    EXPECT_EQ(refused("reload", {{"reason", "more"}}), "409 workers: it is another value.");
    EXPECT_THAT(
        acts("who, act, target, reason, outcome, details ->> 'refusal'"),
        ElementsAre("alice|reload|billing|one topic more|began",
                    "alice|reload|billing|one topic more|done|", "alice|reload|billing|more|began",
                    "alice|reload|billing|more|incomplete|workers: it is another value."));
    reload_ = {{"result", "under_way"}, {"refusal", ""}, {"consequences", json::array()}};
    const auto waiting = post("reload", json::object());
    EXPECT_EQ(waiting->status, 202);
    EXPECT_EQ(json::parse(waiting->body)["result"], "under_way");
    EXPECT_EQ(acts("outcome, details ->> 'result'").back(), "incomplete|under_way");
    EXPECT_EQ(post("reload", json::object(), look_token + std::string("-01"))->status, 403);
    database().execute("ALTER TABLE audit_log RENAME TO audit_away");
    reload_ = json();  // nobody asks for it
    EXPECT_EQ(post("reload", json::object())->status, 503) << "it is not in the audit log";
}

TEST_F(AdminActsTest, AReloadOfAFileWhosePathIsNotUtf8IsAuditedAndAnswered) {
    Configuration odd = configuration(schema_.server().dsn);
    odd.file =
        "/etc/f\xfc"
        "r.yaml";
    const CurrentConfiguration current(odd);
    const AdminActs act = admin_acts(current, [&](const auto&) {
        return json{{"result", "refused"}, {"refusal", odd.file + ": broken"}};
    });
    const HttpResponse answer = act({.path = "/api/reload",
                                     .body = "{}",
                                     .caller = {"alice", AdminRole::operate},
                                     .address = "127.0.0.1",
                                     .stopped = [] { return false; }});
    EXPECT_EQ(answer.status, 409) << answer.body;
    EXPECT_THAT(acts("outcome, details ->> 'file', details ->> 'refusal'"),
                ElementsAre("began|/etc/f\uFFFDr.yaml", "incomplete|/etc/f\uFFFDr.yaml: broken"));
}

TEST_F(AdminActsTest, AProcessThatCannotReloadSaysSo) {
    const AdminActs act = admin_acts(current_);
    const HttpResponse answer = act({.path = "/api/reload",
                                     .body = "{}",
                                     .caller = {"alice", AdminRole::operate},
                                     .address = "127.0.0.1",
                                     .stopped = [] { return false; }});
    EXPECT_EQ(answer.status, 409);
    EXPECT_THAT(acts(), ElementsAre());
}

TEST_F(AdminActsTest, ARoleWithoutTheRightsIsTold) {
    const CurrentConfiguration current(configuration(schema_.server().worker_dsn));
    const AdminActs act = admin_acts(current);
    const HttpResponse answer = act({.path = "/api/pause",
                                     .body = R"({"topic": "orders", "reason": "x"})",
                                     .caller = {"alice", AdminRole::operate},
                                     .address = "127.0.0.1",
                                     .stopped = [] { return false; }});
    EXPECT_EQ(answer.status, 403);
    EXPECT_THAT(answer.body, HasSubstr("--grant-operator-to"));
}

// Over TLS, with a certificate of this test's own authority, and one of another.
class AdminCertificates : public testing::Test {
  protected:
    AdminCertificates() {
        for (const char* authority : {"ours", "another"}) {
            std::filesystem::create_directories(folder_ / authority);
            support::write_certificates(folder_ / authority, false);
        }
    }
    ~AdminCertificates() override {
        std::signal(SIGPIPE, on_broken_pipe_);
        std::filesystem::remove_all(folder_);
    }
    std::string file(const char* authority, const char* name = "server.pem") const {
        return folder_ / authority / name;
    }
    AdminConfiguration access() const {
        AdminConfiguration access;
        access.certificate_file = access.key_file = file("ours");
        access.client_ca_file = file("ours", "ca.pem");
        return access;
    }
    static std::string answer(AdminServer& server, const std::string& certificate) {
        httplib::SSLClient client("127.0.0.1", server.address().port, certificate, certificate);
        client.enable_server_certificate_verification(false);
        const auto acted = client.Post("/api/pause", {{act_header, "1"}}, "{}", "application/json");
        return acted ? std::to_string(acted->status) + " " + acted->body : "no answer";
    }
    static AdminServer::Sources sources(const AdminConfiguration& access) {
        return {.live = [] { return HealthVerdict{}; },
                .ready = [] { return HealthVerdict{}; },
                .metrics = [] { return std::string(); },
                .access = access,
                .act =
                    [](const AdminAct& act) {
                        return HttpResponse{.status = 200, .body = act.caller.who};
                    }};
    }

    // The client writes its request before it learns that its certificate was refused.
    void (*on_broken_pipe_)(int) = std::signal(SIGPIPE, SIG_IGN);
    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / support::unique_name("admin");
};

TEST_F(AdminCertificates, TheSubjectHasItsRole) {
    AdminConfiguration operate = access();
    operate.operate.subjects = {"CN=127.0.0.1"};
    AdminServer operates({"127.0.0.1", 0}, sources(operate));
    EXPECT_EQ(answer(operates, file("ours")), "200 CN=127.0.0.1");
    EXPECT_EQ(answer(operates, file("another")), "no answer") << "no handshake with that authority";
    AdminConfiguration look = access();
    look.look.subjects = {"CN=127.0.0.1"};
    AdminServer looks({"127.0.0.1", 0}, sources(look));
    EXPECT_THAT(answer(looks, file("ours")), testing::StartsWith("403 "));
    AdminConfiguration other = access();
    other.operate.subjects = {"CN=127.0.0.2"};
    AdminServer others({"127.0.0.1", 0}, sources(other));
    EXPECT_THAT(answer(others, file("ours")), testing::StartsWith("401 "));
}

TEST_F(AdminCertificates, ProbesNeedNone) {
    AdminConfiguration operate = access();
    operate.operate.subjects = {"CN=127.0.0.1"};
    const AdminServer server({"127.0.0.1", 0}, sources(operate));
    EXPECT_EQ(ask_admin_port(server.address(), "/livez", std::chrono::seconds(5), true).status,
              200);
    httplib::SSLClient client("127.0.0.1", server.address().port);
    client.enable_server_certificate_verification(false);
    EXPECT_EQ(client.Post("/api/pause", {{act_header, "1"}}, "{}", "application/json")->status,
              401);
}

}  // namespace
}  // namespace onceward::operator_tests
