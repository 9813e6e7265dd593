// Workers that call a webhook: from a real Kafka, through leases in a real PostgreSQL, to a server
// that writes down each call.

#include <gtest/gtest.h>

#include <atomic>

#include "sinks/outbox/outbox_rows.h"
#include "sinks/webhook/webhook_sink.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"
#include "tests/support/recording_server.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;
using support::RecordedAnswer;
using support::RecordedCall;
using support::RecordingServer;

class Calls : public testing::Test {
  protected:
    WorkerOptions options(const RecordingServer& server) {
        WebhookOptions webhook;
        webhook.url = server.url();
        webhook.allow_private = {"127.0.0.0/8"};
        webhook.timeout = 5s;
        webhook.retries = {.attempts = 2, .backoff = 20ms};
        WorkerOptions options = scene_.options();
        WorkerTopic& topic = options.topics[0];
        topic.ledger.store = StoreKind::lease;
        topic.ledger.lease = lease_;
        topic.batch_messages = 64;
        topic.effect_retries = webhook.retries;
        topic.sink = [webhook] { return std::make_unique<WebhookSink>(webhook); };
        return options;
    }
    std::int64_t done() {
        return scene_.database().number("SELECT count(*) FROM leases WHERE state = 'done'");
    }
    std::int64_t passed() {
        return scene_.database().number(
            "SELECT coalesce(sum(applied + duplicates + dead_lettered),"
            " 0) FROM fences");
    }
    // I9: no call without its try written down before.
    std::int64_t attempts() {
        return scene_.database().number("SELECT coalesce(sum(attempts), 0) FROM leases");
    }

    milliseconds lease_ = 60s;
    Scene scene_{{.partitions = 3}};
};

TEST_F(Calls, EachKeyIsAnsweredOnceOverRetriesAndRepeats) {
    // Each third key fails twice before it is taken.
    RecordingServer server([](const RecordedCall& call, int number) {
        const bool late = call.body.back() == '}' && call.body[call.body.size() - 2] % 3 == 0;
        return RecordedAnswer{late && number < 3 ? 503 : 200, {}, ""};
    });
    scene_.start(options(server));
    scene_.start(options(server));
    const std::vector<support::ProducedMessage> first = scene_.make(60, 0);
    std::vector<support::ProducedMessage> spread = first;
    for (std::size_t i = 0; i < spread.size(); ++i) spread[i].partition = static_cast<int>(i % 3);
    scene_.kafka().produce(scene_.topic(), spread);
    // Once more, in another partition.
    for (support::ProducedMessage& message : spread)
        message.partition = (message.partition + 1) % 3;
    scene_.kafka().produce(scene_.topic(), spread);
    EXPECT_TRUE(eventually(patience, [&] { return passed() == 120; }));
    EXPECT_EQ(done(), 60);
    EXPECT_EQ(scene_.database().number("SELECT sum(duplicates) FROM fences"), 60);
    const std::map<std::string, int> counts = server.counts();
    EXPECT_EQ(counts.size(), 60U) << "a key for each message, the same on each try";
    int calls = 0;
    for (const auto& [key, count] : counts) {
        EXPECT_TRUE(count == 1 || count == 3) << key << " " << count;
        calls += count;
    }
    EXPECT_GE(attempts(), calls);
}

TEST_F(Calls, ARefusalIsADeadLetterAndTheRestGoesOn) {
    RecordingServer server([](const RecordedCall& call, int) {
        return RecordedAnswer{call.body == "{\"id\": 7}" ? 422 : 200, {}, ""};
    });
    scene_.start(options(server));
    scene_.kafka().produce(scene_.topic(), scene_.make(20, 0));
    EXPECT_TRUE(eventually(patience, [&] { return passed() == 20; }));
    EXPECT_EQ(done(), 19);
    EXPECT_EQ(scene_.database().value("SELECT concat_ws(' ', record_offset, reason) FROM "
                                      "dead_letters"),
              "7 answered 422");
}

TEST_F(Calls, EachIsRepliedToAndARepeatAsTheFirst) {
    RecordingServer server([](const RecordedCall& call, int) {
        const bool refused = call.body == "{\"id\": 1}";
        return RecordedAnswer{
            refused ? 422 : 201, {{"Set-Cookie", "a=b"}}, refused ? "refused" : "done"};
    });
    WorkerOptions replying = options(server);
    WorkerTopic& topic = replying.topics[0];
    topic.ledger.stores_results = true;
    topic.answers.emplace().reply.topic = "replies";
    topic.replies = [this] { return std::make_unique<OutboxReplies>(scene_.group()); };
    scene_.start(replying);
    const std::vector<support::ProducedMessage> sent = scene_.make(2, 0);
    for (int round = 0; round < 2; ++round) scene_.kafka().produce(scene_.topic(), sent);
    ASSERT_TRUE(eventually(patience, [&] { return passed() == 4; }));
    const auto has = [](const std::string& header) {
        return "position('" + header + "'::bytea in headers) > 0";
    };
    EXPECT_EQ(
        scene_.database().value(
            "SELECT string_agg(concat_ws(' ', convert_from(payload, 'UTF8'), " +
            has("onceward-failed") + ", " + has("onceward-replayed") + ", " + has("set-cookie") +
            "), ', ' ORDER BY payload, outbox.position) FROM outbox WHERE topic = 'replies'"),
        "done f f f, done f t f, refused t f f, refused t t f");
    EXPECT_EQ(server.calls().size(), 2U);
}

// The other side is away: nothing is dead-lettered, the fence stays, and all continues by itself.
TEST_F(Calls, WhileTheOtherSideIsAwayThePartitionWaits) {
    std::atomic<bool> away{true};
    RecordingServer server([&](const RecordedCall&, int) {
        return RecordedAnswer{away ? 503 : 200, {}, ""};
    });
    scene_.start(options(server));
    scene_.kafka().produce(scene_.topic(), scene_.make(10, 0));
    const CapturedLog log;
    EXPECT_TRUE(log.says("message.waits"));
    EXPECT_EQ(scene_.next_offset(0), 0);
    EXPECT_EQ(scene_.database().number("SELECT count(*) FROM dead_letters"), 0);
    away = false;
    EXPECT_TRUE(eventually(patience, [&] { return passed() == 10; }));
    EXPECT_EQ(done(), 10);
}

// A worker that leaves lets what is under way end; the next one has nothing to wait for.
TEST_F(Calls, AWorkerThatLeavesHandsOverWhatItHasNotBegun) {
    std::atomic<bool> slow{true};
    RecordingServer server([&](const RecordedCall&, int) {
        if (slow) eventually(300ms, [] { return false; });
        return RecordedAnswer{};
    });
    Worker& leaving = scene_.start(options(server));
    scene_.kafka().produce(scene_.topic(), scene_.make(200, 0));
    EXPECT_TRUE(eventually(patience, [&] { return done() > 0; }));
    scene_.stop(leaving);
    EXPECT_LT(passed(), 200);
    EXPECT_EQ(scene_.database().number("SELECT count(*) FROM leases WHERE state = 'in_flight' AND "
                                       "lease_until > clock_timestamp()"),
              0);
    slow = false;
    scene_.start(options(server));
    EXPECT_TRUE(eventually(patience, [&] { return passed() == 200; }));
    for (const auto& [key, count] : server.counts()) EXPECT_EQ(count, 1) << key;
}

// A topic of webhooks is not set aside for the others: its calls cannot be taken back.
TEST_F(Calls, WhatWasAnsweredIsNotCalledAgainThoughTheLeasesAreLockedForAWhile) {
    support::Database locker(scene_.schema().server().dsn);
    std::atomic<bool> locked{false};
    RecordingServer server([&](const RecordedCall&, int) {
        if (!locked.exchange(true)) {
            locker.execute("BEGIN; LOCK TABLE " + scene_.schema().name() +
                           ".leases IN SHARE MODE");
        }
        return RecordedAnswer{200, {}, ""};
    });
    WorkerOptions two = options(server);
    two.postgres.lock_timeout = 1500ms;
    scene_.add_other_topic(two);
    const CapturedLog log;
    scene_.start(std::move(two));
    scene_.kafka().produce(scene_.topic(), scene_.make(5, 0));
    ASSERT_TRUE(log.says("batch.retried"));
    locker.execute("COMMIT");
    EXPECT_TRUE(eventually(patience, [&] { return passed() == 5; }));
    for (const auto& [key, count] : server.counts()) EXPECT_EQ(count, 1) << key;
    EXPECT_EQ(attempts(), 5);
}

}  // namespace
}  // namespace onceward::kafka_tests
