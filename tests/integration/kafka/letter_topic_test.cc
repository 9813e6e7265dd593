// Dead letters in a topic, by a worker and the relay: what is in Kafka is what was in Kafka, once.

#include <map>

#include "tests/integration/kafka/letter_scene.h"
#include "tests/support/core_harness.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;

class LettersInATopic : public LetterScene {
  protected:
    // What no worker can apply: bytes that are not JSON, a tombstone, and an empty payload.
    static std::vector<support::ProducedMessage> poison() {
        const std::string bytes("{\"id\": \0\xff", 9);
        const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        return {{0,
                 std::string("\0k\xff", 3),
                 bytes,
                 {{"a", "1"}, {"a", std::nullopt}, {"", ""}, {"traceparent", trace}}},
                {0, std::nullopt, std::nullopt, {{"Idempotency-Key", "tombstone"}}},
                {0, "", "", {{"a", std::string("\0\xff", 2)}, {"onceward-id", "the message's"}}}};
    }
};

TEST_F(LettersInATopic, AreTheMessagesByteForByteAndTheirHeadersBeginTheRecords) {
    scene_.start(worker(LetterStyle::connect));
    const std::vector<support::ProducedMessage> sent = poison();
    scene_.kafka().produce(scene_.topic(), sent);
    scene_.send(20);
    ASSERT_TRUE(scene_.all_applied());
    ASSERT_TRUE(eventually(patience, [&] { return count("dead_letters") == 3; }));
    Tracer tracer({.ratio = 1});
    relay_all(&tracer);
    std::map<std::string, support::ReadMessage> found;  // by the offset that the headers name
    for (const support::ReadMessage& record : published()) {
        for (const auto& [name, value] : record.headers) {
            if (name == "__connect.errors.offset") found[value.value_or("")] = record;
        }
    }
    ASSERT_EQ(published().size(), 3U);
    ASSERT_EQ(found.size(), 3U);
    for (std::size_t i = 0; i < sent.size(); ++i) {
        const support::ReadMessage& record = found[std::to_string(i)];
        EXPECT_EQ(record.key, sent[i].key);
        EXPECT_EQ(record.payload, sent[i].payload);
        ASSERT_EQ(record.headers.size(), sent[i].headers.size() + 10 + 1);
        for (std::size_t h = 0; h < sent[i].headers.size(); ++h) {
            EXPECT_EQ(record.headers[h], sent[i].headers[h]);
        }
        EXPECT_EQ(record.headers[sent[i].headers.size()].second, scene_.topic());
        EXPECT_EQ(record.headers.back().first, "onceward-id");
    }
}

// The server ends the worker's session around the COMMIT of each batch.
TEST_F(LettersInATopic, ComeOnceThoughSessionsDieBeforeAndAfterTheirCommits) {
    support::Database other(scene_.schema().server().dsn);
    int deaths = 0;  // of the writer's thread alone
    support::StepHook hook([&](Step step) {
        if (step != Step::before_commit && step != Step::after_commit) return;
        if (++deaths > 6) return;
        other.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '" +
            std::string(support::worker_role) + "'");
    });
    std::vector<support::ProducedMessage> sent;
    for (int i = 0; i < 40; ++i) sent.push_back({0, std::to_string(i), "no JSON", {}});
    scene_.kafka().produce(scene_.topic(), sent);
    WorkerOptions options = worker(LetterStyle::onceward);
    options.batch.messages = 7;
    options.observer = &hook;
    scene_.start(options);
    ASSERT_TRUE(eventually(patience, [&] { return count("dead_letters") == 40; }));
    scene_.stop_all();
    EXPECT_GE(deaths, 6) << "nothing died";
    relay_all();
    std::map<std::string, int> times;
    for (const support::ReadMessage& record : published()) ++times[*record.key];
    EXPECT_EQ(times.size(), 40U);
    EXPECT_EQ(published().size(), 40U);
}

}  // namespace
}  // namespace onceward::kafka_tests
