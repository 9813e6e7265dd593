// One search for a key finds the records that outboxes made of its message, hop by hop.

#include <gtest/gtest.h>

#include <map>

#include "cli/configuration/load.h"
#include "cli/keys/key_lookup.h"
#include "dedup/postgres/values.h"
#include "sinks/outbox/outbox_rows.h"

namespace onceward {
namespace {

const std::string by_id = "    key: {sources: [{header: onceward-id}]}\n";

std::string topic(const std::string& name, const std::string& key, const std::string& target,
                  const std::string& more = "") {
    return "  - name: " + name + "\n    format: json\n" + key + "    sink: {table: " + name +
           ", columns: {id: /id}}\n" +
           (target.empty() ? "" : "    also_publish: {topic: " + target + "}\n") + more;
}

Configuration configured(const std::string& topics) {
    const std::string text =
        "group: shop\nkafka: {bootstrap_servers: '127.0.0.1:1'}\npostgres: {dsn: 'host=a'}\n"
        "databases:\n  - {name: east, dsn: 'host=b'}\ntopics:\n" +
        topics +
        "http:\n  listen: 127.0.0.1:8080\n  routes:\n    - method: POST\n      path: /orders\n"
        "      sink: {table: placed, columns: {id: /id}}\n      also_publish: {topic: orders}\n";
    return usable_or_throw(load_configuration_text(text, "test.yaml"), "test.yaml");
}

std::map<std::string, KeyCandidate> published(const Configuration& configuration,
                                              const std::string& database = "postgres") {
    KeyQuestion question;
    question.key = "k";
    std::map<std::string, KeyCandidate> found;
    for (const KeyCandidate& one : key_search(question, configuration, database).candidates) {
        if (!one.published_by.empty()) found.emplace(one.published_by, one);
    }
    return found;
}

TEST(PublishedKeys, AreFollowedFromTheRouteThroughEachTopicThatTakesTheIdForItsKey) {
    const auto found =
        published(configured(topic("orders", by_id, "calls") + topic("calls", by_id, "")));
    const auto key_in = [](const std::string& name, const std::string& id) {
        return digest_of({"shop/" + name, "", "header:onceward-id", id});
    };
    const Digest request = digest_of({"POST /orders", "", "header:Idempotency-Key", "k"});
    const std::string first = uuid_text(outbox_id("orders", OutboxPlace::also_publish, request));
    const std::string second =
        uuid_text(outbox_id("calls", OutboxPlace::also_publish, key_in("orders", first)));
    ASSERT_TRUE(found.contains("route POST /orders"));
    EXPECT_EQ(found.at("route POST /orders").onceward_id, first);
    EXPECT_EQ(found.at("route POST /orders").digest, key_in("orders", first));
    // Also of a message that comes to the topic by itself, under the same text.
    ASSERT_TRUE(found.contains("topic orders"));
    KeyQuestion question;
    question.key = "k";
    bool followed = false;
    for (const KeyCandidate& one :
         key_search(question, configured(topic("orders", by_id, "calls") +
                                         topic("calls", by_id, "")), "postgres")
             .candidates) {
        followed = followed || (one.onceward_id == second && one.published_by == "topic orders" &&
                                one.digest == key_in("calls", second));
    }
    EXPECT_TRUE(followed);
}

TEST(PublishedKeys, AreNotThoseOfAReaderThatTakesAnotherKey) {
    EXPECT_TRUE(published(configured(topic("orders", "    key: {sources: [record_key]}\n", "")))
                    .empty());
}

TEST(PublishedKeys, TopicsThatPublishInACircleComeToAnEnd) {
    const Configuration circle =
        configured(topic("orders", by_id, "calls") + topic("calls", by_id, "orders"));
    KeyQuestion question;
    question.key = "k";
    EXPECT_LT(key_search(question, circle, "postgres").candidates.size(), 20U);
}

TEST(PublishedKeys, AreLookedForOnTheServerOfTheirReader) {
    const Configuration two =
        configured(topic("orders", by_id, "", "    database: east\n"));
    EXPECT_TRUE(published(two).empty());
    EXPECT_TRUE(published(two, "east").contains("route POST /orders"));
}

}  // namespace
}  // namespace onceward
