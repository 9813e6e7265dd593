// Replies as those who asked receive them: the program itself with a configuration in YAML, from a
// topic through a function of the user's and the outbox to the topic of the replies.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "lab/embedded/child_process.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;

class ReplyTopic : public testing::Test {
  protected:
    ReplyTopic() {
        scene_.kafka().create_topic(replies_, 1);
        std::ofstream(file("yaml"))
            << "group: " << scene_.group() << "\nkafka: {bootstrap_servers: '"
            << support::kafka_bootstrap_servers() << "'}\npostgres: {dsn: '"
            << scene_.schema().server().worker_dsn << "', schema: " << scene_.schema().name()
            << "}\ntopics:\n  - name: " << scene_.topic()
            << "\n    format: json\n    start: earliest\n    key: {preset: idempotency-key}\n"
            << "    sink:\n      function: " << place_function()
            << "\n      columns:\n        key: {header: Idempotency-Key}\n        id: /id\n"
               "        partition: {metadata: partition}\n        offset: {metadata: offset}\n"
               "    results: {headers: [location]}\n    reply: {topic: "
            << replies_ << "}\n";
    }
    ~ReplyTopic() override {
        std::filesystem::remove(file("yaml"));
        std::filesystem::remove(file("log"));
    }
    // Its answer is another one each time that it is called.
    std::string place_function() {
        const std::string name = scene_.schema().name() + ".place";
        scene_.database().execute(
            "CREATE FUNCTION " + name +
            "(messages jsonb[]) RETURNS TABLE (result_status integer, result_headers jsonb, "
            "result_body text) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO " +
            scene_.schema().name() +
            ".effects (key, id, kafka_partition, kafka_offset) SELECT m->>'key', "
            "(m->>'id')::bigint, (m->>'partition')::int, (m->>'offset')::bigint FROM "
            "unnest(messages) m; RETURN QUERY SELECT 201, jsonb_build_object('location', "
            "'/orders/' || (m->>'id'), 'set-cookie', 'a=b'), 'receipt ' || "
            "gen_random_uuid()::text FROM unnest(messages) WITH ORDINALITY AS t (m, place) "
            "ORDER BY place; END $$");
        return name;
    }
    std::filesystem::path file(const std::string& kind) const {
        return std::filesystem::path(testing::TempDir()) / (scene_.topic() + "." + kind);
    }
    ChildProcess run() const {
        ChildOptions options;
        options.command = {ONCEWARD_EXECUTABLE, "run", "-c", file("yaml").string()};
        options.output = file("log");
        return ChildProcess(options);
    }
    std::vector<support::ReadMessage> received() { return scene_.kafka().read_all(replies_, 1); }
    bool receives(std::size_t count) {
        return eventually(patience, [&] { return received().size() >= count; });
    }

    Scene scene_;
    std::string replies_ = support::unique_name("replies");
};

std::map<std::string, std::string> headers_by_name(const support::ReadMessage& message) {
    std::map<std::string, std::string> found;
    for (const auto& [name, value] : message.headers) {
        EXPECT_TRUE(found.try_emplace(name, value.value_or("null")).second) << name << " twice";
    }
    return found;
}

TEST_F(ReplyTopic, ADuplicateReceivesTheFirstReplyAgainMarkedAsReplayedUnderItsOwnCorrelationId) {
    const ChildProcess process = run();
    std::vector<support::ProducedMessage> order = scene_.make(1, 0);
    order[0].key = "account";
    order[0].headers.emplace_back("correlation-id", "asked first");
    order[0].headers.emplace_back("other", "nobody's affair");
    scene_.kafka().produce(scene_.topic(), order);
    scene_.count(order);
    ASSERT_TRUE(receives(1)) << tail_of(file("log"));
    order[0].headers[1].second = "asked again";
    scene_.kafka().produce(scene_.topic(), order);
    ASSERT_TRUE(receives(2)) << tail_of(file("log"));

    const std::vector<support::ReadMessage> replies = received();
    ASSERT_EQ(replies.size(), 2U);
    EXPECT_TRUE(replies[0].payload.value().starts_with("receipt ")) << *replies[0].payload;
    EXPECT_EQ(replies[1].payload, replies[0].payload) << "it was made again";
    EXPECT_EQ(replies[0].key, "account");
    EXPECT_EQ(replies[1].key, "account");
    std::map<std::string, std::string> first = headers_by_name(replies[0]);
    std::map<std::string, std::string> again = headers_by_name(replies[1]);
    EXPECT_NE(first["onceward-id"], again["onceward-id"])
        << "who knows the first by its id would take the second for it";
    first.erase("onceward-id");
    again.erase("onceward-id");
    std::map<std::string, std::string> expected = {
        {"location", "/orders/0"}, {"correlation-id", "asked first"}, {"onceward-status", "201"}};
    EXPECT_EQ(first, expected);
    expected["correlation-id"] = "asked again";
    expected["onceward-replayed"] = "true";
    EXPECT_EQ(again, expected);

    EXPECT_EQ(scene_.fence(0, "applied, duplicates, dead_lettered"), "1 1 0");
    scene_.expect_exact();
}

}  // namespace
}  // namespace onceward::kafka_tests
