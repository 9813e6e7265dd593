// Routes to a topic through the program's own parts, with a real broker: the cases of the IETF's
// draft that such a route has, a webhook's way, and what a client sees while Kafka is away.

#include <gmock/gmock.h>

#include <future>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "cli/composition/topic_routes.h"
#include "cli/configuration/load.h"
#include "cli/process/serve_routes.h"
#include "gateway/checks/signature.h"
#include "lab/embedded/reserved_port.h"
#include "tests/integration/gateway/raw_client.h"
#include "tests/support/kafka.h"
#include "tests/support/unique.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::Pair;
using testing::SizeIs;

class TopicRouteTest : public ::testing::Test {
  protected:
    // `route`: in addition to method, path and topic.
    void start(const std::string& route = "", const std::string& servers = "",
               const std::string& kafka_options = "") {
        const std::string text =
            "group: shop\nkafka: {bootstrap_servers: '" +
            (servers.empty() ? kafka_bootstrap_servers() : servers) + "'" + kafka_options +
            "}\npostgres: {dsn: host=localhost}\nhttp:\n  listen: 127.0.0.1:0\n  routes:\n"
            "    - method: POST\n      path: /events\n      topic: " +
            topic_ + "\n" + route;
        const LoadResult loaded = load_configuration_text(text, "test.yaml");
        for (const Finding& finding : loaded.findings) ADD_FAILURE() << finding.message;
        gateway_ = std::make_unique<GatewayRun>(loaded.configuration);
    }
    RawResponse post(const std::string& headers, const std::string& body = "{}") {
        RawClient client(gateway_->port());
        return client.ask("POST", "/events", headers, body).value();
    }
    static std::string type(const RawResponse& response) {
        const std::string whole = nlohmann::json::parse(response.body).at("type");
        return std::to_string(response.status) + " " + whole.substr(whole.rfind('/') + 1);
    }
    static KafkaOptions here() {
        KafkaOptions options;
        options.bootstrap_servers = kafka_bootstrap_servers();
        return options;
    }
    static std::future<EventFate> produce(TopicRoutes& production, const std::string& topic,
                                          std::size_t size) {
        auto promise = std::make_shared<std::promise<EventFate>>();
        production.produce(
            {.topic = topic, .key = "one", .payload = std::string(size, 'x'), .headers = {}},
            [promise](EventFate fate) { promise->set_value(fate); });
        return promise->get_future();
    }
    // What became of records with these many bytes, all of them under way at once.
    std::vector<EventFate> fates(TopicRoutes& production, const std::vector<std::size_t>& sizes) {
        std::vector<std::future<EventFate>> told;
        for (const std::size_t size : sizes) told.push_back(produce(production, topic_, size));
        std::vector<EventFate> all;
        for (auto& fate : told) all.push_back(fate.get());
        return all;
    }
    std::vector<ReadMessage> messages() { return kafka().read_all(topic_, 3); }

    std::string topic_ = unique_name("events");
    std::unique_ptr<GatewayRun> gateway_;
};

TEST_F(TopicRouteTest, AnEventIsInTheLogWhenItIsAcknowledged) {
    kafka().create_topic(topic_, 3);
    start("      forward_headers: [X-Kind]\n");
    const RawResponse response = post("Idempotency-Key: \"k-1\"\r\nX-Kind: made\r\n", "payload");
    EXPECT_EQ(response.status, 202);
    EXPECT_EQ(response.headers.at("idempotency-key"), "\"k-1\"");
    const std::vector<ReadMessage> found = messages();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].key, "k-1");
    EXPECT_EQ(found[0].payload, "payload");
    EXPECT_THAT(found[0].headers,
                Contains(Pair("Idempotency-Key", std::optional<std::string>("k-1"))));
    EXPECT_THAT(found[0].headers, Contains(Pair("x-kind", std::optional<std::string>("made"))));
}

// The topic's reader recognises a repeat; both are in one partition.
TEST_F(TopicRouteTest, RepeatsOfAKeyGoToOnePartition) {
    kafka().create_topic(topic_, 3);
    start();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(post("Idempotency-Key: same\r\n").status, 202);
    const std::vector<ReadMessage> found = messages();
    ASSERT_THAT(found, SizeIs(5));
    for (const ReadMessage& message : found) EXPECT_EQ(message.partition, found[0].partition);
}

TEST_F(TopicRouteTest, WithoutAKeyOrWithABadOneNothingIsProduced) {
    kafka().create_topic(topic_, 3);
    start();
    EXPECT_EQ(type(post("")), "400 key-missing");
    EXPECT_EQ(type(post("Idempotency-Key: a b\r\n")), "400 key-malformed");
    EXPECT_EQ(type(post("Idempotency-Key: a\r\nIdempotency-Key: a\r\n")), "400 key-malformed");
    EXPECT_THAT(messages(), SizeIs(0));
}

TEST_F(TopicRouteTest, AWebhooksEventIsTakenUnderItsProvidersId) {
    kafka().create_topic(topic_, 3);
    start("      key: {field: /id}\n      signature: {scheme: github, secret: canary-secret}\n");
    const std::string body = R"({"id":"evt_1","amount":3})";
    const auto signed_with = [&](const std::string& secret) {
        return post("X-Hub-Signature-256: sha256=" + hmac_sha256(secret, body) + "\r\n", body);
    };
    EXPECT_EQ(type(signed_with("other")), "401 signature-refused");
    EXPECT_EQ(signed_with("canary-secret").status, 202);
    const std::vector<ReadMessage> found = messages();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].key, "evt_1");
    EXPECT_EQ(found[0].payload, body);
}

TEST_F(TopicRouteTest, ManyAtOnceAreAllInTheLog) {
    kafka().create_topic(topic_, 3);
    start();
    constexpr int clients = 8, each = 50;
    std::vector<std::thread> threads;
    for (int client = 0; client < clients; ++client) {
        threads.emplace_back([&, client] {
            RawClient connection(gateway_->port());
            for (int i = 0; i < each; ++i) {
                const std::string key = std::to_string(client) + "-" + std::to_string(i);
                const auto response =
                    connection.ask("POST", "/events", "Idempotency-Key: " + key + "\r\n", key);
                EXPECT_EQ(response->status, 202);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    std::set<std::string> payloads;
    for (const ReadMessage& message : messages()) payloads.insert(message.payload.value());
    EXPECT_THAT(payloads, SizeIs(clients * each));
}

// librdkafka takes no record above a million bytes, whatever the route's own limit is.
TEST_F(TopicRouteTest, AnEventThatIsTooLargeForTheClientIsA413AndTheOthersLand) {
    kafka().create_topic(topic_, 1);
    TopicRoutes production({.kafka = here()});
    EXPECT_EQ(fates(production, {100, 1'000'001, 100}),
              (std::vector{EventFate::taken, EventFate::too_large, EventFate::taken}));
    EXPECT_THAT(kafka().read_all(topic_, 1), SizeIs(2));
    start();
    const std::string key = "Idempotency-Key: large\r\n";
    EXPECT_EQ(type(post(key, std::string(1'000'001, 'x'))), "413 body-too-large");
    EXPECT_EQ(post(key, "smaller").status, 202);
}

TEST_F(TopicRouteTest, AnEventThatIsLargerThanAllThatMayWaitIsRefusedForGood) {
    TopicRoutes production({.kafka = here(), .waiting_bytes = 1000});
    EXPECT_EQ(fates(production, {2000}), std::vector{EventFate::too_large});
}

TEST_F(TopicRouteTest, RecordsThatWaitForOneTopicLeaveRoomForTheOthers) {
    ReservedPort nobody;
    KafkaOptions away;
    away.bootstrap_servers = "127.0.0.1:" + std::to_string(nobody.number());
    TopicRoutes production({.kafka = away, .delivery_timeout = 2s, .waiting_bytes = 10'000});
    std::vector<std::future<EventFate>> stuck;
    for (int i = 0; i < 20; ++i) stuck.push_back(produce(production, "stuck", 800));
    std::future<EventFate> other = produce(production, "other", 800);
    EXPECT_EQ(stuck.back().get(), EventFate::no_room) << "it was certainly not stored";
    EXPECT_EQ(stuck.front().get(), EventFate::unknown);
    EXPECT_EQ(other.get(), EventFate::unknown) << "it had its room, and nobody took it";
}

TEST_F(TopicRouteTest, HowLargeAnEventMayBeIsSetWithKafkasOwnProperty) {
    kafka().create_topic(topic_, 3, {{"max.message.bytes", "2000000"}});
    start("", "", ", properties: {message.max.bytes: 2000000}");
    EXPECT_EQ(post("Idempotency-Key: large\r\n", std::string(1'040'000, 'x')).status, 202);
}

// Small ones in the same batch are refused together with it, and sent again.
TEST_F(TopicRouteTest, AnEventThatIsTooLargeForTheTopicAloneIsRefused) {
    kafka().create_topic(topic_, 1, {{"max.message.bytes", "20000"}});
    std::vector<std::size_t> sizes(30, 2'000);
    sizes[7] = 25'000;
    std::vector<EventFate> wanted(30, EventFate::taken);
    wanted[7] = EventFate::too_large;
    TopicRoutes production({.kafka = here()});
    EXPECT_EQ(fates(production, sizes), wanted);
    EXPECT_THAT(kafka().read_all(topic_, 1), SizeIs(29));
}

TEST_F(TopicRouteTest, WhileKafkaIsAwayAnEventIsA503AndAStopDoesNotWaitForIt) {
    ReservedPort nobody;
    start("", "127.0.0.1:" + std::to_string(nobody.number()));
    RawClient client(gateway_->port());
    client.send(
        "POST /events HTTP/1.1\r\nHost: a\r\nIdempotency-Key: a\r\nContent-Length: 0\r\n\r\n");
    EXPECT_FALSE(client.readable(500));
    const auto response = client.receive();
    ASSERT_TRUE(response);
    EXPECT_EQ(type(*response), "503 unavailable");
    EXPECT_EQ(response->headers.at("retry-after"), "5");
}

}  // namespace
}  // namespace onceward::support
