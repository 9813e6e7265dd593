#include "tests/faults/campaign/hook_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <filesystem>

#include "lab/embedded/socket.h"
#include "tests/faults/campaign/message_source.h"
#include "tests/faults/checker/produced_list.h"
#include "tests/support/unique.h"

namespace onceward::campaign {
namespace {

const char* const head =
    "POST /1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Length: 10\r\n"
    "Campaign-Worker: worker-3\r\nIdempotency-Key: \"0d9c-key\"\r\n\r\n";

TEST(CampaignHook, ACallIsTakenWhenAllOfItIsThere) {
    EXPECT_FALSE(hook_call("POST /1 HT"));
    EXPECT_FALSE(hook_call(std::string(head) + "{\"id\": 17"));
    const std::optional<HookCall> call = hook_call(std::string(head) + "{\"id\": 17}");
    ASSERT_TRUE(call);
    EXPECT_EQ(call->topic, 1U);
    EXPECT_EQ(call->worker, "worker-3");
    EXPECT_EQ(call->key, "0d9c-key");
    EXPECT_EQ(call->body, "{\"id\": 17}");
    EXPECT_EQ(call->request, "");
    const std::string of_a_request = "POST /calls/client-0-12" + std::string(head).substr(7);
    EXPECT_EQ(hook_call(of_a_request + "{\"id\": 17}").value().request, "calls/client-0-12");
    EXPECT_THROW(hook_call("POST /0 HTTP/1.1\r\n\r\n"), std::runtime_error);
}

TEST(CampaignHook, SomeCallsFailAndNoneMoreThanThreeTimes) {
    int failed = 0;
    int late = 0;
    int refused = 0;
    for (int i = 0; i < 1000; ++i) {
        const std::string key = "key " + std::to_string(i);
        const HookAnswer first = hook_answer(7, key, 1);
        EXPECT_EQ(first.status, hook_answer(7, key, 1).status) << "the same again";
        const int outcome = hook_outcome(7, key);
        refused += outcome == 200 ? 0 : 1;
        failed += first.status == outcome ? 0 : 1;
        late += first.after > milliseconds(0) ? 1 : 0;
        EXPECT_EQ(hook_answer(7, key, 4).status, outcome);
        EXPECT_EQ(hook_answer(7, key, 9).status, outcome) << "it is refused for good";
        EXPECT_EQ(hook_answer(7, key, 4).after, milliseconds(0));
    }
    EXPECT_NEAR(failed, 35, 25);
    EXPECT_NEAR(late, 165, 60);
    EXPECT_NEAR(refused, 15, 14);
}

TEST(CampaignHook, PayloadsTellTheirMessagesIds) {
    const PayloadFields fields{300, "key-1", "account-2", "5"};
    EXPECT_EQ(payload_id(PayloadFormat::json, json_payload(fields)), 300U);
    EXPECT_EQ(payload_id(PayloadFormat::protobuf, protobuf_payload(fields)), 300U);
    EXPECT_EQ(payload_id(PayloadFormat::raw, std::string(raw_prefix) + "300"), 300U);
    EXPECT_FALSE(payload_id(PayloadFormat::json, "[]"));
    EXPECT_FALSE(payload_id(PayloadFormat::protobuf, ""));
}

TEST(CampaignHook, WritesDownWhatItHasAnswered) {
    Plan plan = draw_plan(1);
    plan.workload.topics.resize(2);
    plan.workload.topics[1].format = PayloadFormat::json;
    // One whose calls are answered at once.
    plan.seed = 1;
    const auto answered_at_once = [&](int number) {
        const HookAnswer told = hook_answer(plan.seed, "0d9c-key", number);
        return told.status == 200 && told.after == milliseconds(0);
    };
    while (!answered_at_once(1) || !answered_at_once(2)) ++plan.seed;
    const auto file =
        std::filesystem::temp_directory_path() / (support::unique_name("calls") + ".ndjson");
    HookServer server(plan, file);
    const Socket client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = loopback(static_cast<std::uint16_t>(server.port()));
    ASSERT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const std::string text = std::string(head) + "{\"id\": 17}";
    ASSERT_EQ(send(client.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    std::array<char, 15> answer{};
    ASSERT_EQ(recv(client.get(), answer.data(), answer.size(), MSG_WAITALL), 15);
    EXPECT_EQ(std::string(answer.data(), answer.size()), "HTTP/1.1 200 To");
    const Socket other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(other.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    std::string called = "POST /calls/a-1" + std::string(head).substr(7);
    called.replace(called.find("10\r"), 2, "13");
    called += "{\"body\": \"2\"}";
    ASSERT_EQ(send(other.get(), called.data(), called.size(), 0),
              static_cast<ssize_t>(called.size()));
    ASSERT_EQ(recv(other.get(), answer.data(), 1, MSG_WAITALL), 1);
    server.finish();
    checker::Evidence evidence;
    checker::load_calls(file, evidence);
    std::filesystem::remove(file);
    ASSERT_EQ(evidence.calls.size(), 1U);
    EXPECT_EQ(evidence.calls[0].message, 17U);
    EXPECT_EQ(evidence.calls[0].key, "0d9c-key");
    EXPECT_EQ(evidence.calls[0].worker, "worker-3");
    EXPECT_EQ(evidence.calls[0].status, 200);
    ASSERT_EQ(evidence.route_calls.size(), 1U);
    EXPECT_EQ(evidence.route_calls[0].request, "calls/a-1");
    EXPECT_EQ(evidence.route_calls[0].body, "2");
    EXPECT_EQ(evidence.route_calls[0].key, "0d9c-key");
}

}  // namespace
}  // namespace onceward::campaign
