#include "dedup/trace/tracer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "dedup/base/trace_origin.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

TraceSpan some_span(const std::string& name = "span") {
    return {.name = name, .context = {random_trace_id(), random_span_id(), true}};
}

TEST(Tracer, TheRatioIsTheShareOfTheTracesThatBeginHere) {
    constexpr int tries = 200'000;
    for (const double ratio : {0.0, 0.01, 0.5, 1.0}) {
        const Tracer tracer({.ratio = ratio});
        int taken = 0;
        for (int i = 0; i < tries; ++i) {
            const auto root = tracer.root();
            if (!root) continue;
            ++taken;
            EXPECT_TRUE(root->sampled);
            EXPECT_TRUE(tracer.takes(root->trace)) << "each process with this ratio decides alike";
        }
        // Six standard deviations.
        EXPECT_NEAR(taken, ratio * tries, 6 * std::sqrt(ratio * (1 - ratio) * tries)) << ratio;
    }
}

TEST(Tracer, AQueueThatIsFullDropsAndCounts) {
    Tracer tracer({.ratio = 1, .queue = 10});
    for (int i = 0; i < 7; ++i) tracer.end(some_span(std::to_string(i)));
    std::vector<TraceSpan> more;
    for (int i = 7; i < 15; ++i) more.push_back(some_span(std::to_string(i)));
    tracer.end(std::move(more));
    EXPECT_EQ(tracer.counts().waiting, 10);
    EXPECT_EQ(tracer.counts().dropped, 5);
    const std::stop_token never;
    const std::vector<TraceSpan> first = tracer.take(4, 0ms, never);
    ASSERT_EQ(first.size(), 4U);
    EXPECT_EQ(first[3].name, "3") << "the oldest first";
    EXPECT_NE(first[3].end, SpanTime{});
    EXPECT_EQ(tracer.take(100, 0ms, never).size(), 6U);
    EXPECT_TRUE(tracer.take(100, 0ms, never).empty());
    tracer.exported(3);
    tracer.failed(7);
    const TraceCounts counts = tracer.counts();
    EXPECT_EQ(counts.exported, 3);
    EXPECT_EQ(counts.failed, 7);
    EXPECT_EQ(counts.waiting, 0);
}

TEST(Tracer, TheExporterIsWokenByEnoughSpansAndByAStop) {
    Tracer tracer({.ratio = 1, .queue = 1000});
    const std::stop_token never;
    std::vector<TraceSpan> taken;
    std::jthread exporter([&] { taken = tracer.take(5, 60s, never); });
    for (int i = 0; i < 5; ++i) tracer.end(some_span());
    exporter.join();
    EXPECT_EQ(taken.size(), 5U);
    std::jthread stopped([&](const std::stop_token& stop) { taken = tracer.take(5, 60s, stop); });
    stopped.request_stop();
    stopped.join();
    EXPECT_TRUE(taken.empty());
}

// What came between may be lost with its process.
TEST(Tracer, ASpanLinksToWhereItsTraceCameFromUnlessThatIsItsParent) {
    Tracer tracer({});
    const TraceContext client{random_trace_id(), random_span_id(), true};
    const auto links_of = [&](const TraceContext& parent) {
        TraceSpan span = begin_span("s", SpanKind::producer, parent);
        span.tracestate = with_origin("a=1", client.span);
        tracer.end(std::move(span));
        return tracer.take(1, 0ms, {}).at(0).links;
    };
    EXPECT_TRUE(links_of(client).empty());
    EXPECT_EQ(links_of(child_of(client)), std::vector<TraceContext>{client});
}

TEST(OtlpJson, ASpanIsWrittenAsTheProtocolWantsIt) {
    const auto parent =
        parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    TraceSpan span{.name = "process \"a\"\n", .kind = SpanKind::consumer, .context = *parent};
    span.context.span.bytes = {1, 2, 3, 4, 5, 6, 7, 8};
    span.parent = parent->span;
    span.tracestate = "a=b";
    span.start = SpanTime(1'700'000'000'123'456'789ns);
    span.end = SpanTime(1'700'000'000'223'456'789ns);
    span.add("messaging.system", "kafka");
    span.add("messaging.kafka.offset", std::int64_t{9'007'199'254'740'993});
    span.add("onceward.replayed", true);
    span.events.push_back({"fence held", span.start, {}});
    span.links.push_back(*parent);
    span.links_dropped = 3;
    span.fail("\xff" "x");
    const std::string text = otlp_json({{"service.name", "onceward"}}, "1.2.3", {&span, 1});
    EXPECT_EQ(text, R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name",)"
                    R"("value":{"stringValue":"onceward"}}]},"scopeSpans":[{"scope":{"name":)"
                    R"("onceward","version":"1.2.3"},"spans":[{"traceId":)"
                    R"("4bf92f3577b34da6a3ce929d0e0e4736","spanId":"0102030405060708",)"
                    R"("parentSpanId":"00f067aa0ba902b7","traceState":"a=b","flags":1,"name":)"
                    R"("process \"a\"\u000a","kind":5,"startTimeUnixNano":"1700000000123456789",)"
                    R"("endTimeUnixNano":"1700000000223456789","attributes":[{"key":)"
                    R"("messaging.system","value":{"stringValue":"kafka"}},{"key":)"
                    R"("messaging.kafka.offset","value":{"intValue":"9007199254740993"}},{"key":)"
                    R"("onceward.replayed","value":{"boolValue":true}},{"key":"error.type",)"
                    R"("value":{"stringValue":"\\xffx"}}],"events":[{"timeUnixNano":)"
                    R"("1700000000123456789","name":"fence held","attributes":[]}],"links":)"
                    R"([{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":)"
                    R"("00f067aa0ba902b7"}],"droppedLinksCount":3,"status":{"code":2}}]}]}]})");
    EXPECT_TRUE(nlohmann::json::accept(text));
    EXPECT_TRUE(nlohmann::json::accept(otlp_json({}, "", {})));
}

}  // namespace
}  // namespace onceward
