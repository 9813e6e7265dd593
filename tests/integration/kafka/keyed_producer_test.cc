// The keyed producer on a real broker, with a proxy between that keeps the broker's answers back:
// whatever is sent again, an operation has one key and one effect.

#include "consumer/produce/keyed_producer.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "lab/embedded/reserved_port.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/cutting_proxy.h"
#include "tests/support/eventually.h"
#include "tests/support/kafka_broker.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;

// Producers come through the proxy, everybody else by the direct listener.
struct ProxiedBroker {
    ReservedPort port;
    support::CuttingProxy proxy{support::CuttingProxy::Protocol::bytes, port.number()};
    support::KafkaBroker broker{[this] {
        support::KafkaBrokerOptions options;
        options.port = port.number();
        options.advertised_port = proxy.port();
        options.direct = true;
        return options;
    }()};
    support::Kafka kafka{broker.direct_bootstrap_servers()};
};

// Started by the first who asks, on the main thread.
ProxiedBroker& proxied_broker() {
    static ProxiedBroker broker;
    return broker;
}

class LostAnswer : public testing::Test {
  protected:
    LostAnswer() {
        options_.bootstrap_servers = "127.0.0.1:" + std::to_string(proxy_.port());
        options_.linger = 1ms;
        options_.properties = {{"reconnect.backoff.max.ms", "200"}};
    }
    ~LostAnswer() override { proxy_.hold_answers(false); }

    // A new operation; its key.
    std::string send(KeyedProducer& producer) {
        const std::string payload = "{\"id\": " + std::to_string(keys_.size()) + "}";
        OutgoingRecord record;
        record.topic = scene_.topic();
        record.payload = payload;
        keys_.push_back(producer.send(record));
        scene_.count({{0, std::nullopt, payload, {{"Idempotency-Key", keys_.back()}}, 0}});
        return keys_.back();
    }
    // One that was delivered, so that there is a connection, and one that the log has while the
    // producer does not hear of it. The key of the latter.
    std::string lose_answer(KeyedProducer& producer) {
        producer.on_delivery([this](const KeyedDelivery& fate) { fates_.push_back(fate); });
        send(producer);
        EXPECT_TRUE(producer.flush(patience));
        const std::int64_t before = end();
        proxy_.hold_answers(true);
        const std::string key = send(producer);
        EXPECT_TRUE(eventually(patience, [&] { return end() > before; })) << "it did not arrive";
        return key;
    }
    std::int64_t end() { return scene_.kafka().offsets(scene_.topic(), 0).second; }
    // How many records the log has under each key.
    std::map<std::string, int> logged() {
        std::map<std::string, int> all;
        for (const support::ReadMessage& message : scene_.kafka().read_all(scene_.topic(), 1)) {
            ++all[message.headers.at(0).second.value()];
        }
        return all;
    }
    // What a worker makes of all that is in the log.
    void expect_each_applied_once() {
        scene_.start();
        EXPECT_TRUE(eventually(patience, [&] { return scene_.next_offset(0) == end(); }));
        scene_.expect_all_once();
    }

    support::CuttingProxy& proxy_ = proxied_broker().proxy;
    Scene scene_{{.kafka = &proxied_broker().kafka,
                  .bootstrap_servers = proxied_broker().broker.direct_bootstrap_servers()}};
    ProducerOptions options_;
    std::vector<std::string> keys_;
    std::vector<KeyedDelivery> fates_;
};

TEST_F(LostAnswer, TheCopySentAfterItIsASecondRecordUnderTheSameKeyAndNoSecondEffect) {
    options_.delivery_timeout = 2s;
    KeyedProducer producer(options_, {.resends = 20, .pause = 50ms});
    const std::string key = lose_answer(producer);
    ASSERT_TRUE(eventually(patience, [&] {
        producer.poll();
        return producer.resent() > 0;
    }));
    proxy_.hold_answers(false);
    ASSERT_TRUE(producer.flush(patience));
    ASSERT_EQ(fates_.size(), 2U);
    EXPECT_EQ(fates_[1].key, key);
    EXPECT_EQ(fates_[1].delivery.error, "");
    EXPECT_GT(fates_[1].sends, 1);
    std::map<std::string, int> records = logged();
    EXPECT_EQ(records.size(), 2U) << "a key was minted again";
    EXPECT_GE(records[key], 2) << "no copy was sent";
    expect_each_applied_once();
}

TEST_F(LostAnswer, KafkasOwnRetryOnANewConnectionAddsNoRecord) {
    KeyedProducer producer(options_);
    const std::string key = lose_answer(producer);
    const std::uint64_t connections = proxy_.connections();
    proxy_.cut_all();
    proxy_.hold_answers(false);
    ASSERT_TRUE(producer.flush(patience));
    EXPECT_GT(proxy_.connections(), connections) << "nothing was cut";
    ASSERT_EQ(fates_.size(), 2U);
    EXPECT_EQ(fates_[1].key, key);
    EXPECT_EQ(fates_[1].delivery.error, "");
    EXPECT_EQ(fates_[1].sends, 1);
    EXPECT_EQ(logged(), (std::map<std::string, int>{{keys_[0], 1}, {key, 1}}));
    expect_each_applied_once();
}

// A process that ends without the answer and continues with the key that it had kept.
TEST_F(LostAnswer, AProducerThatComesBackWithTheKeyAddsNoEffect) {
    std::string key;
    {
        KeyedProducer producer(options_);
        key = lose_answer(producer);
    }
    proxy_.hold_answers(false);
    KeyedProducer again(options_);
    OutgoingRecord record;
    record.topic = scene_.topic();
    record.payload = "{\"id\": 1}";
    again.send(record, key);
    ASSERT_TRUE(again.flush(patience));
    EXPECT_EQ(logged(), (std::map<std::string, int>{{keys_[0], 1}, {key, 2}}));
    expect_each_applied_once();
}

}  // namespace
}  // namespace onceward::kafka_tests
