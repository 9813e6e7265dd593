// The webhook's calls, against a server that writes them down.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "sinks/webhook/rules.h"
#include "sinks/webhook/webhook_sink.h"
#include "tests/conformance/test_messages.h"
#include "tests/support/certificates.h"
#include "tests/support/cutting_proxy.h"
#include "tests/support/eventually.h"
#include "tests/support/recording_server.h"
#include "tests/support/unique.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;
using Call = EffectOutcome::Kind;
using testing::HasSubstr;

constexpr auto patience = 60s;

class Webhook : public testing::Test {
  protected:
    WebhookOptions options_for(const RecordingServer& server) {
        WebhookOptions options;
        options.url = server.url();
        options.allow_private = {"127.0.0.0/8"};
        options.timeout = 5s;
        return options;
    }
    Message& message(const std::string& key, std::string_view payload = "{\"id\": 1}") {
        Message& made = messages_.add({});
        made.record.payload = payload;
        made.digest = digest_of_bytes(key);
        return made;
    }
    // Begins them all and waits for their ends, by number.
    std::map<std::uint64_t, EffectOutcome> call(WebhookSink& sink,
                                                const std::vector<Message*>& messages) {
        std::map<std::uint64_t, EffectOutcome> outcomes;
        for (std::size_t i = 0; i < messages.size(); ++i) sink.begin({i, messages[i]});
        EXPECT_TRUE(eventually(patience, [&] {
            for (EffectOutcome& outcome : sink.wait(10ms)) {
                outcomes[outcome.number] = std::move(outcome);
            }
            return outcomes.size() == messages.size();
        }));
        return outcomes;
    }
    EffectOutcome call_once(WebhookSink& sink, Message& one) { return call(sink, {&one})[0]; }
    EffectOutcome answered(const RecordedAnswer& answer) {
        RecordingServer server([answer](const RecordedCall&, int) { return answer; });
        WebhookSink sink(options_for(server));
        return call_once(sink, message("key"));
    }
    TestMessages messages_;
};

TEST_F(Webhook, SendsPayloadKeyTraceAndConfiguredHeaders) {
    RecordingServer server([](const RecordedCall&, int) {
        return RecordedAnswer{201, {{"X-Id", "7"}}, "made"};
    });
    WebhookOptions options = options_for(server);
    options.method = "PUT";
    options.headers = {{"Authorization", "Bearer t0ken"}};
    options.sign_secret = "s3cret";
    WebhookSink sink(options);
    Message& one = message("key");
    const std::string trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    one.record.headers = {{"traceparent", trace}, {"tracestate", "a=b"}, {"other", "mine"}};
    const EffectOutcome outcome = call_once(sink, one);
    EXPECT_EQ(outcome.kind, Call::done);
    EXPECT_EQ(outcome.result.status, 201);
    EXPECT_EQ(outcome.result.body, "made");
    EXPECT_THAT(outcome.result.headers,
                testing::Contains(std::pair<std::string, std::string>("X-Id", "7")));
    ASSERT_EQ(server.calls().size(), 1U);
    const RecordedCall sent = server.calls().front();
    EXPECT_EQ(sent.method, "PUT");
    EXPECT_EQ(sent.path, "/hook");
    EXPECT_EQ(sent.body, "{\"id\": 1}");
    EXPECT_EQ(sent.header("content-type"), "application/json");
    EXPECT_EQ(sent.header("idempotency-key"), key_header_value(one.digest));
    EXPECT_EQ(sent.header("authorization"), "Bearer t0ken");
    EXPECT_EQ(sent.header("traceparent"), trace);
    EXPECT_EQ(sent.header("tracestate"), "a=b");
    EXPECT_EQ(sent.header("other"), "");
    const std::string signed_with = sent.header("onceward-signature");
    const std::string time = signed_with.substr(2, signed_with.find(',') - 2);
    EXPECT_EQ(signed_with, signature("s3cret", std::chrono::seconds(std::stoll(time)), sent.body));
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    EXPECT_NEAR(std::stod(time), std::chrono::duration<double>(now).count(), 60);
}

TEST_F(Webhook, StandardWebhooksSignsTheDownstreamKeyAsTheEventsId) {
    RecordingServer server([](const RecordedCall&, int) { return RecordedAnswer{200, {}, ""}; });
    WebhookOptions options = options_for(server);
    options.sign_secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    options.sign_scheme = WebhookOptions::SignScheme::standard_webhooks;
    WebhookSink sink(options);
    Message& one = message("key");
    EXPECT_EQ(call_once(sink, one).kind, Call::done);
    const RecordedCall sent = server.calls().front();
    EXPECT_EQ(sent.header("webhook-id"), downstream_key(one.digest));
    EXPECT_EQ(sent.header("onceward-signature"), "");
    const auto time = std::chrono::seconds(std::stoll(sent.header("webhook-timestamp")));
    for (const auto& [name, value] : standard_webhooks_headers(
             options.sign_secret, downstream_key(one.digest), time, sent.body)) {
        EXPECT_EQ(sent.header(name), value);
    }
}

TEST_F(Webhook, TheKeyIsTheSameOnEachTryAndAHeaderCannotBeSmuggledIn) {
    RecordingServer server([](const RecordedCall&, int call) {
        return RecordedAnswer{call == 1 ? 503 : 200, {}, ""};
    });
    WebhookSink sink(options_for(server));
    Message& one = message("key");
    one.record.headers = {{"traceparent", "00-x\r\nX-Injected: 1"}};
    EXPECT_EQ(call_once(sink, one).kind, Call::again);
    EXPECT_EQ(call_once(sink, one).kind, Call::done);
    EXPECT_EQ(server.counts(), (std::map<std::string, int>{{key_header_value(one.digest), 2}}));
    for (const RecordedCall& sent : server.calls()) {
        EXPECT_EQ(sent.header("x-injected"), "");
        EXPECT_EQ(sent.header("traceparent"), own_traceparent(one.digest));
    }
}

TEST_F(Webhook, EachTryOfARecordedMessageIsASpanThatTheReceiverContinues) {
    RecordingServer server([](const RecordedCall&, int call) {
        return RecordedAnswer{call == 1 ? 503 : 200, {}, ""};
    });
    Tracer tracer({.ratio = 0});
    WebhookSink sink(options_for(server), &tracer);
    Message& one = message("key");
    const TraceContext own{random_trace_id(), random_span_id(), true};
    one.trace = &own;
    EXPECT_EQ(call_once(sink, one).kind, Call::again);
    EXPECT_EQ(call_once(sink, one).kind, Call::done);
    Message& other = message("other");
    EXPECT_EQ(call_once(sink, other).kind, Call::again);
    const std::vector<TraceSpan> spans = tracer.take(100, std::chrono::milliseconds(0), {});
    ASSERT_EQ(spans.size(), 2U) << "the other message is not recorded";
    for (std::size_t i = 0; i < spans.size(); ++i) {
        EXPECT_EQ(spans[i].parent, own.span);
        EXPECT_EQ(spans[i].failed, i == 0);
        EXPECT_EQ(server.calls().at(i).header("traceparent"), to_traceparent(spans[i].context));
    }
}

TEST_F(Webhook, WhatFollowsATraceparentOfALaterVersionIsNotSent) {
    RecordingServer server([](const RecordedCall&, int) { return RecordedAnswer{}; });
    WebhookSink sink(options_for(server));
    Message& one = message("key");
    const std::string parts = "-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const std::string later = "cc" + parts + "-\r\nX-Injected: 1";
    one.record.headers = {{"traceparent", later}};
    EXPECT_EQ(call_once(sink, one).kind, Call::done);
    EXPECT_EQ(server.calls().at(0).header("x-injected"), "");
    EXPECT_EQ(server.calls().at(0).header("traceparent"), "00" + parts);
}

TEST_F(Webhook, AnAnswerMeansWhatItsStatusSays) {
    EXPECT_EQ(answered({204, {}, ""}).kind, Call::done);
    const EffectOutcome refused = answered({422, {}, "no such account"});
    EXPECT_EQ(refused.kind, Call::failed);
    EXPECT_EQ(refused.result.kind, MessageResult::Kind::failed);
    EXPECT_EQ(refused.result.body, "no such account");
    EXPECT_EQ(refused.reason, "answered 422") << "the body is no log's affair";
    const EffectOutcome busy = answered({429, {{"Retry-After", "7"}}, ""});
    EXPECT_EQ(busy.kind, Call::again);
    EXPECT_EQ(busy.not_before, 7s);
    EXPECT_EQ(answered({503, {}, ""}).not_before, std::nullopt);
}

TEST_F(Webhook, ARedirectIsNotFollowed) {
    RecordingServer elsewhere([](const RecordedCall&, int) { return RecordedAnswer{}; });
    for (const int status : {301, 302, 307, 308}) {
        const EffectOutcome outcome = answered({status, {{"Location", elsewhere.url()}}, ""});
        EXPECT_EQ(outcome.kind, Call::again) << status;
        EXPECT_THAT(outcome.reason, HasSubstr("not followed"));
    }
    EXPECT_TRUE(elsewhere.calls().empty());
}

TEST_F(Webhook, LoopbackIsRefusedUnlessItIsAllowed) {
    RecordingServer server([](const RecordedCall&, int) { return RecordedAnswer{}; });
    WebhookOptions options = options_for(server);
    options.allow_private = {};
    const std::string port = std::to_string(server.port());
    for (const std::string& host : {std::string("127.0.0.1"), std::string("localhost"),
                                    std::string("[::1]"), std::string("[::ffff:127.0.0.1]")}) {
        options.url = "http://" + host + ":" + port + "/hook";
        WebhookSink sink(options);
        const EffectOutcome outcome = call_once(sink, message("key"));
        EXPECT_EQ(outcome.kind, Call::again) << host;
        EXPECT_THAT(outcome.reason, HasSubstr("is not public")) << host;
    }
    EXPECT_TRUE(server.calls().empty());
    options.url = server.url();
    options.allow_private = {"127.0.0.1"};
    WebhookSink allowed(options);
    EXPECT_EQ(call_once(allowed, message("key")).kind, Call::done);
}

TEST_F(Webhook, NoProxyOfTheEnvironmentIsAsked) {
    RecordingServer proxy([](const RecordedCall&, int) { return RecordedAnswer{418, {}, ""}; });
    RecordingServer server([](const RecordedCall&, int) { return RecordedAnswer{}; });
    ASSERT_EQ(setenv("http_proxy", proxy.url().c_str(), 1), 0);
    WebhookSink sink(options_for(server));
    EXPECT_EQ(call_once(sink, message("key")).kind, Call::done);
    unsetenv("http_proxy");
    EXPECT_TRUE(proxy.calls().empty());
}

TEST_F(Webhook, OfAnAnswerThatIsTooLongTheStatusCounts) {
    RecordingServer server([](const RecordedCall&, int call) {
        return RecordedAnswer{call == 1 ? 200 : 503, {}, std::string(100'000, 'x')};
    });
    WebhookOptions options = options_for(server);
    options.answer_bytes = 1000;
    WebhookSink sink(options);
    const EffectOutcome outcome = call_once(sink, message("key"));
    EXPECT_EQ(outcome.kind, Call::done);
    EXPECT_EQ(outcome.result.status, 200);
    EXPECT_EQ(outcome.result.body, "");
    EXPECT_EQ(call_once(sink, message("key")).kind, Call::again);
}

TEST_F(Webhook, WhatTakesTooLongIsTriedAgainAndACancelledCallIsNeverTold) {
    std::atomic<bool> go{false};
    RecordingServer server([&](const RecordedCall&, int) {
        eventually(patience, [&] { return go.load(); });
        return RecordedAnswer{};
    });
    WebhookOptions options = options_for(server);
    options.timeout = 500ms;
    WebhookSink sink(options);
    const EffectOutcome late = call_once(sink, message("late"));
    EXPECT_EQ(late.kind, Call::again);
    EXPECT_EQ(late.result.status, 0);
    sink.begin({7, &message("cancelled")});
    EXPECT_TRUE(eventually(patience, [&] {
        EXPECT_TRUE(sink.wait(1ms).empty());
        return server.calls().size() == 2;
    }));
    sink.cancel(7);
    EXPECT_TRUE(sink.wait(1s).empty());
    go = true;
}

// libcurl would send a request again by itself where a connection that was kept open ends.
TEST_F(Webhook, AConnectionThatEndsWithoutAnAnswerMakesNoSecondCallInOneTry) {
    std::atomic<bool> cuts{false};
    CuttingProxy proxy(CuttingProxy::Protocol::bytes);
    RecordingServer server([&](const RecordedCall&, int) {
        if (cuts) {
            const std::uint64_t before = proxy.cuts();
            proxy.cut_all();
            EXPECT_TRUE(eventually(patience, [&] { return proxy.cuts() > before; }));
        }
        return RecordedAnswer{};
    });
    proxy.set_target(static_cast<std::uint16_t>(server.port()));
    WebhookOptions options = options_for(server);
    options.url = "http://127.0.0.1:" + std::to_string(proxy.port()) + "/hook";
    WebhookSink sink(options);
    for (const std::string_view body : {std::string_view("{}"), std::string_view()}) {
        cuts = false;
        EXPECT_EQ(call_once(sink, message("before")).kind, Call::done);
        cuts = true;
        Message& one = message("cut " + std::string(body), body);
        EXPECT_EQ(call_once(sink, one).kind, Call::again);
        EXPECT_EQ(server.counts()[key_header_value(one.digest)], 1) << body;
    }
}

TEST_F(Webhook, AnAnswerWhoseHeadBreaksOffIsNone) {
    CuttingProxy proxy(CuttingProxy::Protocol::bytes);
    RecordingServer server([](const RecordedCall&, int) { return RecordedAnswer{}; });
    proxy.set_target(static_cast<std::uint16_t>(server.port()));
    proxy.cut_at(CuttingProxy::Direction::to_client, 40);  // within its header fields
    WebhookOptions options = options_for(server);
    options.url = "http://127.0.0.1:" + std::to_string(proxy.port()) + "/hook";
    WebhookSink sink(options);
    EXPECT_EQ(call_once(sink, message("a")).kind, Call::again);
    proxy.cut_nowhere();
    EXPECT_EQ(call_once(sink, message("a")).kind, Call::done);
}

TEST_F(Webhook, NobodyThereIsTriedAgain) {
    std::string url;
    {
        RecordingServer gone([](const RecordedCall&, int) { return RecordedAnswer{}; });
        url = gone.url();
    }
    WebhookOptions options;
    options.url = url;
    options.allow_private = {"127.0.0.0/8"};
    WebhookSink sink(options);
    EXPECT_EQ(call_once(sink, message("key")).kind, Call::again);
}

TEST_F(Webhook, CallsRunBesideEachOther) {
    std::atomic<int> waiting{0};
    RecordingServer server([&](const RecordedCall&, int) {
        ++waiting;
        eventually(patience, [&] { return waiting >= 4; });
        return RecordedAnswer{};
    });
    WebhookOptions options = options_for(server);
    options.concurrency = 4;
    WebhookSink sink(options);
    std::vector<Message*> four;
    for (const char* key : {"a", "b", "c", "d"}) four.push_back(&message(key));
    for (const auto& [number, outcome] : call(sink, four)) EXPECT_EQ(outcome.kind, Call::done);
    EXPECT_EQ(server.most_at_once(), 4);
}

TEST_F(Webhook, TlsIsVerified) {
    const auto folder =
        std::filesystem::path(testing::TempDir()) / unique_name("webhook_certificates");
    std::filesystem::create_directories(folder);
    write_certificates(folder, false);
    RecordingServer server([](const RecordedCall&, int) { return RecordedAnswer{}; }, folder);
    WebhookOptions options = options_for(server);
    {
        WebhookSink sink(options);
        EXPECT_EQ(call_once(sink, message("key")).kind, Call::again) << "nobody knows its issuer";
    }
    EXPECT_TRUE(server.calls().empty());
    options.ca_file = (folder / "ca.pem").string();
    WebhookSink sink(options);
    EXPECT_EQ(call_once(sink, message("key")).kind, Call::done);
    std::filesystem::remove_all(folder);
}

TEST_F(Webhook, AMessageWithoutAPayloadIsRejected) {
    RecordingServer server([](const RecordedCall&, int) { return RecordedAnswer{}; });
    WebhookSink sink(options_for(server));
    Message& one = message("key");
    EXPECT_FALSE(sink.encode(one, messages_.arena()));
    one.record.payload.reset();
    EXPECT_EQ(sink.encode(one, messages_.arena()).value().kind, Rejection::Kind::unmappable);
}

}  // namespace
}  // namespace onceward::support
