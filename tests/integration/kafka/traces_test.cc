// One trace through the program: a client's request, a route, a topic, a worker, the outbox, a
// second topic and a webhook; and a route to an upstream. A receiver of OTLP in JSON stands in for
// a collector; tests/traces/run has a real one between the program and this receiver.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>

#include "cli/admin/admin_server.h"
#include "dedup/base/text.h"
#include "dedup/base/trace_context.h"
#include "lab/embedded/child_process.h"
#include "lab/embedded/reserved_port.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"
#include "tests/support/recording_server.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;
using support::RecordedAnswer;
using support::RecordedCall;
using support::RecordingServer;
using testing::HasSubstr;

struct ReceivedSpan {
    std::string trace, id, parent, name;
    int kind = 0;
    bool failed = false;
    std::map<std::string, std::string> attributes{};
    std::vector<std::string> links{};  // trace/span
    std::string service{};
};

std::string value_of(const nlohmann::json& value) {
    for (const char* form : {"stringValue", "intValue"}) {
        if (value.contains(form)) {
            const auto& found = value[form];
            return found.is_string() ? found.get<std::string>() : found.dump();
        }
    }
    return value.contains("boolValue") && value["boolValue"].get<bool>() ? "true" : "false";
}

// Takes what an exporter sends, on a port of its own or the one that the collector sends to.
class Receiver {
  public:
    Receiver() {
        server_.Post("/v1/traces", [this](const httplib::Request& request,
                                          httplib::Response& response) {
            read(nlohmann::json::parse(request.body));
            const std::lock_guard lock(mutex_);
            authorization_ = request.get_header_value("Authorization");
            response.set_content("{\"partialSuccess\":{}}", "application/json");
        });
        const char* const given = std::getenv("ONCEWARD_TEST_RECEIVER_PORT");
        port_ = given != nullptr ? std::atoi(given) : server_.bind_to_any_port("127.0.0.1");
        if (given != nullptr && !server_.bind_to_port("127.0.0.1", port_)) port_ = -1;
        thread_ = std::thread([this] { server_.listen_after_bind(); });
        eventually(patience, [this] { return server_.is_running(); });
    }
    ~Receiver() {
        server_.stop();
        thread_.join();
    }
    // The real collector, if there is one.
    std::string endpoint() const {
        const char* const collector = std::getenv("ONCEWARD_TEST_COLLECTOR");
        if (collector != nullptr) return collector;
        return "http://127.0.0.1:" + std::to_string(port_);
    }
    std::vector<ReceivedSpan> of_trace(const std::string& trace) {
        const std::lock_guard lock(mutex_);
        std::vector<ReceivedSpan> found;
        for (const ReceivedSpan& span : spans_) {
            if (span.trace == trace) found.push_back(span);
        }
        return found;
    }
    std::vector<ReceivedSpan> all() {
        const std::lock_guard lock(mutex_);
        return spans_;
    }
    std::string authorization() {
        const std::lock_guard lock(mutex_);
        return authorization_;
    }

  private:
    void read(const nlohmann::json& body) {
        const std::lock_guard lock(mutex_);
        for (const auto& of : body.at("resourceSpans")) {
            std::string service;
            for (const auto& attribute : of.at("resource").at("attributes")) {
                if (attribute["key"] == "service.name") service = value_of(attribute["value"]);
            }
            for (const auto& scope : of.at("scopeSpans")) {
                for (const auto& span : scope.at("spans")) add(span, service);
            }
        }
    }
    void add(const nlohmann::json& span, const std::string& service) {
        ReceivedSpan made{span.at("traceId"), span.at("spanId"), span.value("parentSpanId", ""),
                          span.at("name"), span.at("kind").get<int>()};
        made.failed = span.contains("status") && span["status"].value("code", 0) == 2;
        for (const auto& attribute : span.value("attributes", nlohmann::json::array())) {
            made.attributes[attribute["key"]] = value_of(attribute["value"]);
        }
        for (const auto& link : span.value("links", nlohmann::json::array())) {
            made.links.push_back(link["traceId"].get<std::string>() + "/" +
                                 link["spanId"].get<std::string>());
        }
        made.service = service;
        spans_.push_back(std::move(made));
    }

    std::mutex mutex_;
    std::vector<ReceivedSpan> spans_;
    std::string authorization_;
    httplib::Server server_;
    int port_ = 0;
    std::thread thread_;
};

class Traces : public testing::Test {
  protected:
    Traces() : file_(std::filesystem::path(testing::TempDir()) / (scene_.topic() + ".yaml")) {
        scene_.kafka().create_topic(second_, 1);
        const std::string call = "url: '" + other_side_.url() + "', allow_private: [127.0.0.1]";
        const support::FreshSchema& schema = scene_.schema();
        std::ofstream(file_)
            << "group: " << scene_.group()
            << "\nkafka: {bootstrap_servers: " << support::kafka_bootstrap_servers()
            << "}\npostgres: {dsn: '" << schema.server().worker_dsn
            << "', schema: " << schema.name() << "}\nadmin: {listen: '127.0.0.1:"
            << admin_.number() << "'}\ntraces:\n  endpoint: " << receiver_.endpoint()
            << "\n  headers: {Authorization: Bearer secret}\n  sampling: 0\n"
               "  service_name: payments\ntopics:\n  - name: "
            << scene_.topic()
            << "\n    format: json\n    start: earliest\n    key: {preset: idempotency-key}\n"
               "    sink: {outbox: {topic: "
            << second_ << "}}\n  - name: " << second_
            << "\n    format: json\n    start: earliest\n"
               "    key: {sources: [{header: onceward-id}]}\n    ledger: {store: lease}\n"
               "    sink: {webhook: {"
            << call << "}}\nhttp:\n  listen: 127.0.0.1:" << http_.number()
            << "\n  routes:\n    - {method: POST, path: /events, topic: " << scene_.topic()
            << "}\n    - method: POST\n      path: /charges/{id}\n"
               "      ledger: {name: charges, store: lease}\n      upstream: {"
            << call << "}\n";
    }
    ~Traces() override { std::filesystem::remove(file_); }

    ChildProcess start() const {
        ChildOptions options;
        options.command = {ONCEWARD_EXECUTABLE, "run", "-c", file_.string()};
        return ChildProcess(options);
    }
    int post(const std::string& path, const TraceContext& parent) {
        httplib::Client client("127.0.0.1", http_.number());
        int status = 0;
        eventually(patience, [&] {
            const auto answer = client.Post(
                path,
                {{"Idempotency-Key", "k"}, {"traceparent", to_traceparent(parent)},
                 {"tracestate", "vendor=1"}},
                "{\"id\": 1}", "application/json");
            status = answer ? answer->status : 0;
            return answer && status < 500;
        });
        return status;
    }
    // The spans from the root to the leaf, if each has the one before it as its parent.
    static std::vector<std::string> path_of(const std::vector<ReceivedSpan>& spans,
                                            std::string parent) {
        std::vector<std::string> names;
        while (names.size() <= spans.size()) {
            const auto child = std::ranges::find(spans, parent, &ReceivedSpan::parent);
            if (child == spans.end()) break;
            names.push_back(child->name + " " + std::to_string(child->kind));
            parent = child->id;
        }
        return names;
    }
    static std::string id_of(const SpanId& id) {
        return hex({reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
    }
    static std::string id_of(const TraceId& id) {
        return hex({reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
    }
    std::string traceparent_of_call(std::string_view path) {
        for (const RecordedCall& call : other_side_.calls()) {
            if (call.path.ends_with(path)) return call.header("traceparent");
        }
        return "";
    }

    Scene scene_;
    std::string second_ = scene_.topic() + "-calls";
    ReservedPort http_;
    ReservedPort admin_;
    std::filesystem::path file_;
    Receiver receiver_;
    RecordingServer other_side_{
        [](const RecordedCall&, int) { return RecordedAnswer{200, {}, "{}"}; }};
};

TEST_F(Traces, ARequestIsOneTreeUpToTheWebhook) {
    ChildProcess process = start();
    const TraceContext client{random_trace_id(), random_span_id(), true};
    EXPECT_EQ(post("/events", client), 202);
    const std::string trace = id_of(client.trace);
    const std::string& topic = scene_.topic();
    std::vector<ReceivedSpan> spans;
    EXPECT_TRUE(eventually(patience, [&] {
        spans = receiver_.of_trace(trace);
        return spans.size() >= 6;
    }));
    // server, producer, consumer, producer, consumer, client
    EXPECT_THAT(path_of(spans, id_of(client.span)),
                testing::ElementsAre("POST /events 2", "send " + topic + " 4",
                                     "process " + topic + " 5", "send " + second_ + " 4",
                                     "process " + second_ + " 5", "POST 3"));
    EXPECT_EQ(spans.size(), 6U) << "each hop once";
    const auto span = [&](const std::string& name) {
        return *std::ranges::find(spans, name, &ReceivedSpan::name);
    };
    for (const ReceivedSpan& one : spans) {
        EXPECT_EQ(one.service, "payments");
        EXPECT_FALSE(one.failed) << one.name;
    }
    EXPECT_EQ(span("POST /events").attributes["http.response.status_code"], "202");
    EXPECT_EQ(span("POST /events").attributes["http.route"], "/events");
    std::map<std::string, std::string> of_message = span("process " + topic).attributes;
    EXPECT_EQ(of_message["messaging.system"], "kafka");
    EXPECT_EQ(of_message["messaging.destination.name"], topic);
    EXPECT_EQ(of_message["messaging.consumer.group.name"], scene_.group());
    EXPECT_EQ(of_message["messaging.kafka.offset"], "0");
    EXPECT_EQ(of_message["onceward.outcome"], "applied");
    EXPECT_EQ(span("POST").attributes["server.address"], "127.0.0.1");
    EXPECT_EQ(traceparent_of_call("/hook"), "00-" + trace + "-" + span("POST").id + "-01");

    // The batch is of a trace of its own, which links to the message's context.
    const std::string link = trace + "/" + span("process " + topic).parent;
    const std::string message_link = span("process " + topic).links.at(0);
    const std::vector<ReceivedSpan> all = receiver_.all();
    const auto batch = std::ranges::find_if(
        all, [&](const ReceivedSpan& one) { return one.trace + "/" + one.id == message_link; });
    ASSERT_NE(batch, all.end());
    EXPECT_THAT(batch->links, testing::ElementsAre(link));
    EXPECT_EQ(batch->attributes.at("messaging.batch.message_count"), "1");
    const auto commit = std::ranges::find(all, batch->id, &ReceivedSpan::parent);
    ASSERT_NE(commit, all.end());
    EXPECT_EQ(commit->name, "COMMIT");
    EXPECT_EQ(commit->attributes.at("db.system.name"), "postgresql");
    EXPECT_TRUE(receiver_.authorization() == "Bearer secret" ||
                std::getenv("ONCEWARD_TEST_COLLECTOR") != nullptr);

    const std::string metrics =
        ask_admin_port({"127.0.0.1", admin_.number()}, "/metrics", 5s).body;
    EXPECT_THAT(metrics, HasSubstr("onceward_trace_spans_total{result=\"dropped\"} 0\n"));
    EXPECT_THAT(metrics, HasSubstr("onceward_trace_spans_total{result=\"failed\"} 0\n"));
}

TEST_F(Traces, ARequestToAnUpstreamIsItsCallsParentAndARepeatMakesNoCall) {
    ChildProcess process = start();
    const TraceContext client{random_trace_id(), random_span_id(), true};
    EXPECT_EQ(post("/charges/7", client), 200);
    EXPECT_EQ(post("/charges/7", client), 200);
    std::vector<ReceivedSpan> spans;
    const std::string trace = id_of(client.trace);
    EXPECT_TRUE(eventually(patience, [&] {
        spans = receiver_.of_trace(trace);
        return spans.size() >= 3;
    }));
    ASSERT_EQ(spans.size(), 3U);
    const auto call = std::ranges::find(spans, "POST", &ReceivedSpan::name);
    ASSERT_NE(call, spans.end());
    EXPECT_EQ(call->kind, 3);
    EXPECT_EQ(call->attributes.at("http.response.status_code"), "200");
    EXPECT_EQ(traceparent_of_call("/charges/7"), "00-" + trace + "-" + call->id + "-01");
    int replayed = 0;
    for (const ReceivedSpan& span : spans) {
        if (span.name != "POST /charges/{id}") continue;
        EXPECT_EQ(span.parent, id_of(client.span));
        const bool again = span.attributes.at("onceward.replayed") == "true";
        if (again) ++replayed;
        EXPECT_EQ(span.id == call->parent, !again);
    }
    EXPECT_EQ(replayed, 1);
}

TEST_F(Traces, WhatItsSenderDoesNotRecordIsPassedOnAndNotRecorded) {
    ChildProcess process = start();
    const TraceContext unsampled{random_trace_id(), random_span_id(), false};
    support::ProducedMessage message = scene_.make(1, 0).at(0);
    message.headers.emplace_back("traceparent", to_traceparent(unsampled));
    message.headers.emplace_back("tracestate", "vendor=1");
    scene_.kafka().produce(scene_.topic(), {message});
    EXPECT_TRUE(eventually(patience, [&] { return !other_side_.calls().empty(); }));
    const RecordedCall call = other_side_.calls().at(0);
    EXPECT_EQ(call.header("traceparent"), to_traceparent(unsampled));
    EXPECT_EQ(call.header("tracestate"), "vendor=1");
    // The end sends what is left, and there was nothing.
    process.send(SIGTERM);
    const auto status = process.wait(60s);
    EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0);
    // A collector may still send what it has of other tests.
    for (const ReceivedSpan& span : receiver_.all()) {
        EXPECT_NE(span.trace, id_of(unsampled.trace)) << span.name;
        EXPECT_THAT(span.name, testing::Not(HasSubstr(scene_.topic())));
    }
}

}  // namespace
}  // namespace onceward::kafka_tests
