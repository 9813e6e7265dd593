// One key on its way through client, route, outbox, topic, worker, outbox, topic and webhook, with
// a kill -9 at each hop: each effect is there once, one search tells the whole way, and what the
// receiver has of its trace hangs together.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "lab/embedded/child_process.h"
#include "lab/embedded/reserved_port.h"
#include "tests/integration/kafka/scene.h"
#include "tests/integration/kafka/trace_receiver.h"
#include "tests/support/eventually.h"
#include "tests/support/recording_server.h"
#include "tests/support/unique.h"

namespace onceward::kafka_tests {
namespace {

using nlohmann::json;
using support::eventually;
using support::RecordedAnswer;
using support::RecordedCall;
using support::RecordingServer;

constexpr const char* key = "order-4711";
constexpr const char* route = "POST /orders";
constexpr int partitions = 1;

// Three processes of one group: a front door, a worker and a caller of the webhook. Each test's
// topics and schema are its own.
class TracesUnderKills : public testing::Test {
  protected:
    TracesUnderKills() {
        std::filesystem::create_directories(folder_);
        for (const std::string* topic : {&orders_, &calls_}) {
            kafka_.create_topic(*topic, partitions);
        }
        const std::string columns = "columns: {id: /id}}\n";
        const std::string by_id = "    format: json\n    start: earliest\n"
                                  "    key: {sources: [{header: onceward-id}]}\n";
        const std::string door =
            "http:\n  listen: 127.0.0.1:" + std::to_string(http_.number()) +
            "\n  routes:\n    - method: POST\n      path: /orders\n      ledger: {name: doors}\n"
            "      sink: {table: " +
            placed_ + ", " + columns + "      also_publish: {topic: " + orders_ + "}\n";
        const std::string worker = "  - name: " + orders_ + "\n" + by_id + "    sink: {table: " +
                                   shipped_ + ", " + columns + "    also_publish: {topic: " +
                                   calls_ + "}\n";
        const std::string caller =
            "  - name: " + calls_ + "\n" + by_id +
            "    ledger: {store: lease, lease: 3s, retention: 1h, rotate_after: 7m}\n"
            "    sink: {webhook: {url: '" +
            other_side_.url() +
            "', allow_private: [127.0.0.1], timeout: 1s, connect_timeout: 1s}}\n";
        write("door", door);
        write("worker", "topics:\n" + worker);
        write("caller", "topics:\n" + caller);
        write("whole", "admin: {listen: '127.0.0.1:" + std::to_string(admin_.number()) +
                           "'}\ntopics:\n" + worker + caller + door);
    }
    ~TracesUnderKills() override {
        if (HasFailure()) {
            std::cout << "the processes' logs are in " << folder_ << "\n";
            return;
        }
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    void write(const std::string& name, const std::string& rest) const {
        std::ofstream(file(name))
            << "group: " << group_ << "\nkafka:\n  bootstrap_servers: "
            << support::kafka_bootstrap_servers()
            << "\n  properties: {session.timeout.ms: 1000, heartbeat.interval.ms: 100,\n"
               "    max.poll.interval.ms: 6000, fetch.wait.max.ms: 20}\npostgres: {dsn: \""
            << schema_.server().worker_dsn << "\", schema: " << schema_.name()
            << "}\ndrain_timeout: 2s\ntraces: {endpoint: '" << receiver_.endpoint()
            << "', sampling: 0}\n"
            << (name == "whole" ? "" : "admin: {listen: off}\n") << rest;
    }
    std::filesystem::path file(const std::string& name) const { return folder_ / (name + ".yaml"); }

    ChildProcess start(const std::string& name, const std::string& step = "") const {
        const std::string way = name == "door" ? "serve" : "run";
        ChildOptions options;
        options.output = folder_ / (name + ".log");
        options.command = {ONCEWARD_EXECUTABLE, way, "-c", file(name).string()};
        if (!step.empty()) {
            options.command = {ONCEWARD_FAULTY_EXECUTABLE};
            if (way == "serve") options.command.push_back(way);
            options.command.push_back(file(name).string());
            options.environment = {"ONCEWARD_KILL_AT=" + step};
        }
        return ChildProcess(options);
    }
    std::string log(const std::string& name) const { return tail_of(folder_ / (name + ".log")); }

    void expect_killed(ChildProcess& process, const std::string& name) const {
        const auto status = process.wait(patience);
        ASSERT_TRUE(status && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL) << log(name);
    }
    // One that dies at that step, and whatever it needs to come there.
    void die(const std::string& name, const std::string& step) const {
        SCOPED_TRACE(name + " at " + step);
        ChildProcess process = start(name, step);
        expect_killed(process, name);
    }
    void stop(ChildProcess& process, const std::string& name) const {
        process.send(SIGTERM);
        const auto status = process.wait(patience);
        EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0) << log(name);
    }
    // The client's request; 0 if the connection ended without an answer. Tries until one is open.
    int ask() {
        int status = 0;
        const bool sent = eventually(patience, [&] {
            httplib::Client client("127.0.0.1", http_.number());
            const auto answer = client.Post(
                "/orders", {{"Idempotency-Key", key}, {"traceparent", to_traceparent(client_)}},
                R"({"id": 1})", "application/json");
            status = answer ? answer->status : 0;
            return answer || answer.error() != httplib::Error::Connection;
        });
        EXPECT_TRUE(sent) << log("door");
        return status;
    }
    void die_with_the_request(const std::string& step) {
        SCOPED_TRACE("door at " + step);
        ChildProcess process = start("door", step);
        EXPECT_EQ(ask(), 0) << "it died before the answer";
        expect_killed(process, "door");
    }
    std::int64_t rows(const std::string& table) {
        return schema_.database().number("SELECT count(*) FROM " + table);
    }
    std::int64_t waiting() { return rows("outbox"); }

    // What the command says of the key alone.
    json explained() const {
        const std::filesystem::path said = folder_ / "explained";
        std::filesystem::remove(said);
        ChildOptions options;
        options.output = said;
        options.command = {ONCEWARD_EXECUTABLE, "explain", key, "-c", file("whole").string(),
                           "--json"};
        ChildProcess(options).wait(patience);
        return json::parse(tail_of(said, 100'000));
    }
    json shown_by_the_page() {
        httplib::Client client("127.0.0.1", admin_.number());
        json found;
        EXPECT_TRUE(eventually(patience, [&] {
            const auto answer = client.Get(std::string("/api/key?key=") + key);
            if (!answer || answer->status != 200) return false;
            found = json::parse(answer->body)["servers"].at(0);
            return true;
        })) << log("whole");
        return found;
    }
    void expect_whole(const json& found);
    void expect_one_tree();

    support::FreshSchema schema_;
    support::Kafka& kafka_ = support::kafka();
    const std::string group_ = support::unique_name("shop");
    const std::string orders_ = support::unique_name("orders");
    const std::string calls_ = support::unique_name("calls");
    // No unique constraint: what takes effect twice must be there twice.
    const std::string placed_ = schema_.user_table("placed", "id bigint NOT NULL");
    const std::string shipped_ = schema_.user_table("shipped", "id bigint NOT NULL");
    const std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / support::unique_name("onceward-hops");
    const TraceContext client_{random_trace_id(), random_span_id(), true};
    ReservedPort http_;
    ReservedPort admin_;
    TraceReceiver receiver_;
    RecordingServer other_side_{
        [](const RecordedCall&, int) { return RecordedAnswer{200, {}, "{}"}; }};
};

void TracesUnderKills::expect_whole(const json& found) {
    SCOPED_TRACE(found.dump(1));
    EXPECT_EQ(found["applied"], true);
    ASSERT_EQ(found["claims"].size(), 2U);
    const bool route_first = found["claims"][0].contains("route");
    const json& at_door = found["claims"][route_first ? 0 : 1];
    const json& at_worker = found["claims"][route_first ? 1 : 0];
    EXPECT_EQ(at_door["route"], route);
    EXPECT_FALSE(at_door.contains("published_by"));
    EXPECT_EQ(at_worker["topic"], orders_);
    EXPECT_EQ(at_worker["kind"], "header:onceward-id");
    EXPECT_EQ(at_worker["published_by"], std::string("route ") + route);
    const auto records = kafka_.read_all(orders_, partitions);
    EXPECT_EQ(records.size(), 2U) << "the outbox was killed between Kafka's answer and its row";
    for (const auto& record : records) {
        const auto& headers = record.headers;
        const auto id = std::ranges::find(headers, "onceward-id", [](const auto& header) {
            return header.first;
        });
        ASSERT_NE(id, headers.end());
        EXPECT_EQ(at_worker["onceward_id"], id->second.value_or(""));
    }
    ASSERT_EQ(found["results"].size(), 1U) << "the route's answer";
    ASSERT_EQ(found["leases"].size(), 1U);
    const json& lease = found["leases"][0];
    EXPECT_EQ(lease["topic"], calls_);
    EXPECT_EQ(lease["state"], "done");
    EXPECT_EQ(lease["attempts"], 2);
    EXPECT_EQ(lease["status"], 200);
    EXPECT_EQ(lease["published_by"], "topic " + orders_);
    for (const RecordedCall& call : other_side_.calls()) {
        EXPECT_EQ(call.header("idempotency-key"), lease["downstream_key"].dump());
    }
    for (const char* none : {"outbox", "dead_letters", "discarded_dead_letters", "evictions"}) {
        // Null: this role may not read them.
        EXPECT_TRUE(found[none].empty()) << none;
    }
}

// By parents and links each span leads to the client's, which is no span of ours. Some parents were
// lost with their processes.
void TracesUnderKills::expect_one_tree() {
    const std::string trace = id_of(client_.trace);
    const auto calls = [&](const std::vector<ReceivedSpan>& spans) {
        return std::ranges::count(spans, "POST", &ReceivedSpan::name);
    };
    EXPECT_TRUE(eventually(patience, [&] { return calls(receiver_.of_trace(trace)) >= 1; }));
    const std::vector<ReceivedSpan> spans = receiver_.of_trace(trace);
    std::set<std::string> ids, reached{id_of(client_.span)}, names;
    for (const ReceivedSpan& span : spans) {
        EXPECT_TRUE(ids.insert(span.id).second) << "twice";
        EXPECT_NE(span.parent, "") << span.name << " is another root";
        names.insert(span.name);
    }
    const auto leads_there = [&](const ReceivedSpan& span) {
        return reached.contains(span.parent) ||
               std::ranges::any_of(span.links, [&](const std::string& link) {
                   return link.starts_with(trace + "/") &&
                          reached.contains(link.substr(trace.size() + 1));
               });
    };
    for (std::size_t before = 0; before != reached.size();) {
        before = reached.size();
        for (const ReceivedSpan& span : spans) {
            if (leads_there(span)) reached.insert(span.id);
        }
    }
    int lost = 0;
    for (const ReceivedSpan& span : spans) {
        EXPECT_TRUE(reached.contains(span.id)) << span.name << " hangs in the air";
        if (span.parent != id_of(client_.span) && !ids.contains(span.parent)) ++lost;
    }
    EXPECT_GT(lost, 0) << "a process that is killed sends no spans";
    // Those of the worker's own were lost with it, unless it read the copy later.
    EXPECT_THAT(names,
                testing::IsSupersetOf({std::string(route), "send " + orders_, "send " + calls_,
                                       "process " + calls_, std::string("POST")}));
}

TEST_F(TracesUnderKills, AKeyIsToldWholeByOneSearchAndItsTraceIsOneTree) {
    die_with_the_request("before_commit");
    EXPECT_EQ(rows(placed_), 0);
    EXPECT_EQ(explained()["applied"], false);
    die_with_the_request("after_commit");
    EXPECT_EQ(rows(placed_), 1);
    ASSERT_EQ(waiting(), 1);
    EXPECT_EQ(explained()["outbox"].at(0)["topic"], orders_);
    die("door", "before_outbox_delete");
    ASSERT_FALSE(HasFatalFailure());
    {
        ChildProcess door = start("door");
        EXPECT_GE(ask(), 200) << "the client asks until it is told";
        EXPECT_TRUE(eventually(patience, [&] { return waiting() == 0; })) << log("door");
        stop(door, "door");
    }
    die("worker", "before_commit");
    EXPECT_EQ(rows(shipped_), 0);
    die("worker", "after_commit");
    EXPECT_EQ(rows(shipped_), 1);
    ASSERT_EQ(waiting(), 1);
    die("worker", "before_outbox_delete");
    ASSERT_FALSE(HasFatalFailure());
    {
        ChildProcess worker = start("worker");
        EXPECT_TRUE(eventually(patience, [&] {
            return waiting() == 0 && rows("fences WHERE next_offset = 2") == 1;
        })) << log("worker");
        stop(worker, "worker");
    }
    // The call is answered, and its end is not written down.
    die("caller", "after_sink");
    EXPECT_EQ(other_side_.calls().size(), 1U);
    ASSERT_FALSE(HasFatalFailure());
    ChildProcess whole = start("whole");
    EXPECT_TRUE(eventually(patience, [&] {
        return kafka_.committed_offset(group_, calls_, 0) >= 1 &&
               rows("leases WHERE state = 'done'") == 1;
    })) << log("whole");

    EXPECT_EQ(rows(placed_), 1);
    EXPECT_EQ(rows(shipped_), 1);
    EXPECT_EQ(other_side_.counts().size(), 1U) << "one key, which the receiver honours";
    expect_whole(shown_by_the_page());
    expect_whole(explained());
    stop(whole, "whole");
    expect_one_tree();
}

}  // namespace
}  // namespace onceward::kafka_tests
