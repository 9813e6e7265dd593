// The exporter against receivers that answer, refuse, hang or are away.

#include "cli/composition/trace_exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>

#include "lab/embedded/reserved_port.h"
#include "tests/support/eventually.h"
#include "tests/support/recording_server.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using support::eventually;
using support::RecordedAnswer;
using support::RecordedCall;
using support::RecordingServer;
using Clock = std::chrono::steady_clock;

constexpr auto patience = 30s;

TraceExporterOptions to(const std::string& url) {
    TraceExporterOptions options;
    options.url = url;
    options.headers = {{"Api-Key", "secret"}};
    options.resource = {{"service.name", "test"}};
    options.tracer = {.ratio = 1, .queue = 100};
    options.timeout = 1s;
    return options;
}

void record(Tracer& tracer, int spans) {
    for (int i = 0; i < spans; ++i) {
        tracer.end({.name = "span", .context = tracer.root().value()});
    }
}

std::size_t spans_in(const RecordedCall& call) {
    const auto body = nlohmann::json::parse(call.body);
    return body.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans").size();
}

TEST(TraceExporter, SpansArriveAndTheEndSendsTheRest) {
    const RecordingServer server([](const RecordedCall&, int) { return RecordedAnswer{}; });
    {
        TraceExporter exporter(to(server.url()));
        record(exporter.tracer(), 3);
        EXPECT_TRUE(eventually(patience, [&] { return exporter.tracer().counts().exported == 3; }));
        record(exporter.tracer(), 2);
    }
    std::size_t spans = 0;
    for (const RecordedCall& call : server.calls()) {
        spans += spans_in(call);
        EXPECT_EQ(call.method, "POST");
        EXPECT_EQ(call.header("content-type"), "application/json");
        EXPECT_EQ(call.header("api-key"), "secret");
    }
    EXPECT_EQ(spans, 5U);
}

TEST(TraceExporter, WhatMayPassIsTriedAgainAndARefusalIsNot) {
    for (const int status : {503, 429, 400}) {
        std::atomic<int> calls = 0;
        const RecordingServer server([&](const RecordedCall&, int) {
            return RecordedAnswer{++calls == 1 ? status : 200};
        });
        TraceExporter exporter(to(server.url()));
        record(exporter.tracer(), 2);
        const Tracer& tracer = exporter.tracer();
        EXPECT_TRUE(eventually(patience, [&] {
            return tracer.counts().exported + tracer.counts().failed == 2;
        }));
        EXPECT_EQ(tracer.counts().exported, status == 400 ? 0 : 2) << status;
        EXPECT_EQ(calls, status == 400 ? 1 : 2) << status;
    }
}

TEST(TraceExporter, SpansThatTheReceiverRejectsAreCountedAsFailed) {
    const RecordingServer server([](const RecordedCall&, int) {
        return RecordedAnswer{200, {}, R"({"partialSuccess":{"rejectedSpans":"2"}})"};
    });
    TraceExporter exporter(to(server.url()));
    record(exporter.tracer(), 5);
    EXPECT_TRUE(eventually(patience, [&] { return exporter.tracer().counts().failed == 2; }));
    EXPECT_EQ(exporter.tracer().counts().exported, 3);
}

// No span waits for it, memory is bounded, and the end is too.
TEST(TraceExporter, AReceiverThatHangsDelaysNobody) {
    std::mutex mutex;
    std::condition_variable wake;
    bool released = false;
    RecordingServer server([&](const RecordedCall&, int) {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return released; });
        return RecordedAnswer{};
    });
    std::optional<TraceExporter> exporter(to(server.url()));
    Tracer& tracer = exporter->tracer();
    record(tracer, 1);
    EXPECT_TRUE(eventually(patience, [&] { return !server.calls().empty(); }));
    const auto begun = Clock::now();
    record(tracer, 10'000);
    EXPECT_LT(Clock::now() - begun, 1s) << "recording waits for nothing";
    EXPECT_LE(tracer.counts().waiting, 100);
    EXPECT_GE(tracer.counts().dropped, 9'000);
    const auto ending = Clock::now();
    exporter.reset();
    EXPECT_LT(Clock::now() - ending, 5s) << "bounded by `timeout`, with room for a busy machine";
    const std::lock_guard lock(mutex);
    released = true;
    wake.notify_all();
}

TEST(TraceExporter, AReceiverThatIsAwayIsCounted) {
    const ReservedPort nobody;
    TraceExporter exporter(to("http://127.0.0.1:" + std::to_string(nobody.number())));
    record(exporter.tracer(), 1);
    EXPECT_TRUE(eventually(patience, [&] { return exporter.tracer().counts().failed == 1; }));
}

}  // namespace
}  // namespace onceward
