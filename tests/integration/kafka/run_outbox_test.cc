// Outboxes as the program sends them: a topic's, a route's, and one in addition to a route's table,
// in one process of `onceward run`; and those of routes by `onceward serve`, where nobody else has
// a relay.

#include <gtest/gtest.h>
#include <httplib.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "lab/embedded/child_process.h"
#include "lab/embedded/reserved_port.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;

// Payloads by their keys.
using Events = std::multimap<std::string, std::string>;

class ProgramOutbox : public testing::Test {
  protected:
    ProgramOutbox() {
        for (const std::string& topic : {from_topic_, from_route_, beside_table_}) {
            scene_.kafka().create_topic(topic, 1);
        }
        std::ofstream(file_)
            << "group: " << scene_.group() << "\nkafka: {bootstrap_servers: '"
            << support::kafka_bootstrap_servers() << "'}\npostgres: {dsn: '"
            << scene_.schema().server().worker_dsn << "', schema: " << scene_.schema().name()
            << "}\ntopics:\n  - name: " << scene_.topic()
            << "\n    format: json\n    start: earliest\n    key: {preset: idempotency-key}\n"
               "    sink: {outbox: {topic: "
            << from_topic_ << "}}\nhttp:\n  listen: 127.0.0.1:" << port_.number()
            << "\n  routes:\n    - method: POST\n      path: /events\n"
               "      sink: {outbox: {topic: "
            << from_route_ << "}}\n    - method: POST\n      path: /orders\n      sink: {table: "
            << scene_.schema().user_table("orders", "id bigint")
            << ", columns: {id: /id}}\n      also_publish: {topic: " << beside_table_ << "}\n";
    }
    ~ProgramOutbox() override { std::filesystem::remove(file_); }
    ChildProcess start(const std::string& command) const {
        ChildOptions options;
        options.command = {ONCEWARD_EXECUTABLE, command, "-c", file_.string()};
        return ChildProcess(options);
    }
    bool listens() {
        return eventually(patience, [&] { return static_cast<bool>(client_.Get("/")); });
    }
    // Some requests, each of them twice; what is to be published of them.
    Events post(const std::string& path) {
        Events sent;
        for (int i = 0; i < 3; ++i) {
            const std::string key = "request-" + std::to_string(i);
            const std::string body = "{\"id\": " + std::to_string(i) + "}";
            const httplib::Headers headers{{"Idempotency-Key", key}};
            for (const bool again : {false, true}) {
                const auto answer = client_.Post(path, headers, body, "application/json");
                EXPECT_TRUE(answer && answer->status == 204) << (answer ? answer->body : "");
                EXPECT_TRUE(answer && answer->has_header("Idempotent-Replayed") == again);
            }
            sent.emplace(key, body);
        }
        return sent;
    }
    // Rows go when Kafka has them. REQUIRES: nobody writes any more.
    bool all_sent() {
        return eventually(
            patience, [&] { return scene_.database().number("SELECT count(*) FROM outbox") == 0; });
    }
    Events published(const std::string& topic) {
        Events events;
        for (const support::ReadMessage& message : scene_.kafka().read_all(topic, 1)) {
            events.emplace(message.key.value_or("none"), message.payload.value_or("none"));
        }
        return events;
    }

    Scene scene_;
    ReservedPort port_;
    httplib::Client client_{"127.0.0.1", port_.number()};
    std::string from_topic_ = support::unique_name("from_topic");
    std::string from_route_ = support::unique_name("from_route");
    std::string beside_table_ = support::unique_name("beside_table");
    std::filesystem::path file_ =
        std::filesystem::path(testing::TempDir()) / (scene_.topic() + ".yaml");
};

TEST_F(ProgramOutbox, OfRunHasEachMessageAndEachRequestOnceUnderItsKey) {
    const ChildProcess process = start("run");
    std::vector<support::ProducedMessage> messages = scene_.make(3, 0);
    Events sent;
    for (support::ProducedMessage& message : messages) {
        message.key = "account of " + *message.payload;
        sent.emplace(*message.key, *message.payload);
    }
    scene_.kafka().produce(scene_.topic(), messages);
    scene_.kafka().produce(scene_.topic(), messages);  // all of them again
    ASSERT_TRUE(listens());
    const Events events = post("/events");
    const Events orders = post("/orders");
    ASSERT_TRUE(eventually(patience, [&] {
        return scene_.database().number(
                   "SELECT coalesce(sum(applied + duplicates), 0) FROM fences") == 6;
    }));
    ASSERT_TRUE(all_sent()) << "nobody sends it";
    EXPECT_EQ(published(from_topic_), sent);
    EXPECT_EQ(published(from_route_), events);
    EXPECT_EQ(published(beside_table_), orders);
    EXPECT_EQ(scene_.database().number("SELECT count(*) FROM orders"), 3);
}

// If workers are on their server, these send what routes publish.
TEST_F(ProgramOutbox, OfServeHasEachRequestOnceUnderItsKey) {
    const ChildProcess process = start("serve");
    ASSERT_TRUE(listens());
    const Events events = post("/events");
    const Events orders = post("/orders");
    ASSERT_TRUE(all_sent()) << "nobody sends it";
    EXPECT_EQ(published(from_route_), events);
    EXPECT_EQ(published(beside_table_), orders);
    EXPECT_EQ(scene_.database().number("SELECT count(*) FROM orders"), 3);
}

}  // namespace
}  // namespace onceward::kafka_tests
