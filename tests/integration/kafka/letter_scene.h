#pragma once
// A topic whose dead letters go to a topic as well, a worker, and the relay. For one test at a
// time, on the shared broker and server.

#include <gtest/gtest.h>

#include <thread>

#include "consumer/relay/relay.h"
#include "sinks/dead_letters/dead_letter_sink.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::kafka_tests {

class LetterScene : public testing::Test {
  protected:
    LetterScene() { scene_.kafka().create_topic(letters_, 1); }

    WorkerOptions worker(LetterStyle style) {
        WorkerOptions options = scene_.options();
        options.topics[0].reject.cap_share = 1.0;
        options.topics[0].format.tombstones = TombstonePolicy::reject;
        options.dead_letters = [topics =
                                    DeadLetterSink::Topics{{scene_.topic(), {letters_, style}}}] {
            return std::make_unique<DeadLetterSink>(topics);
        };
        return options;
    }
    // Returns when Kafka has all that waits in the outbox.
    void relay_all(Tracer* tracer = nullptr) {
        RelayOptions options;
        options.tracer = tracer;
        options.connection = scene_.schema().worker();
        options.group = scene_.group();
        options.producer = producer_options(scene_.options().kafka);
        Relay relay(std::move(options));
        const std::jthread thread([&](const std::stop_token& stop) { relay.run(stop); });
        ASSERT_TRUE(support::eventually(patience, [&] { return count("outbox") == 0; }));
    }
    std::int64_t count(const std::string& table) {
        return scene_.database().number("SELECT count(*) FROM " + table);
    }
    std::vector<support::ReadMessage> published() { return scene_.kafka().read_all(letters_, 1); }

    Scene scene_;
    std::string letters_ = support::unique_name("letters");
};

}  // namespace onceward::kafka_tests
