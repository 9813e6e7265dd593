// One trace through the program: a client's request, a route, a topic, a worker, the outbox, a
// second topic and a webhook; and a route to an upstream. A receiver of OTLP in JSON stands in for
// a collector; tests/traces/run has a real one between the program and this receiver.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/admin/admin_server.h"
#include "dedup/base/trace_context.h"
#include "lab/embedded/child_process.h"
#include "lab/embedded/reserved_port.h"
#include "tests/integration/kafka/scene.h"
#include "tests/integration/kafka/trace_receiver.h"
#include "tests/support/eventually.h"
#include "tests/support/recording_server.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;
using support::RecordedAnswer;
using support::RecordedCall;
using support::RecordingServer;
using testing::HasSubstr;

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
    TraceReceiver receiver_;
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
