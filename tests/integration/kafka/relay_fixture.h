#pragma once
// Relays of an outbox between a real server and a real broker, each on a thread of its own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <thread>

#include "consumer/relay/relay.h"
#include "dedup/postgres/transaction.h"
#include "dedup/sink/packed_headers.h"
#include "sinks/outbox/outbox_sink.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::kafka_tests {

using support::eventually;

// A relay on a thread of its own, until it goes.
class RunningRelay {
  public:
    explicit RunningRelay(RelayOptions options)
        : relay_(std::move(options)),
          thread_([this](const std::stop_token& stop) { relay_.run(stop); }) {}
    // Returns when it has ended.
    void stop() {
        thread_.request_stop();
        thread_.join();
    }
    RelayCounts counts() const { return relay_.counts(); }
    bool leads(milliseconds limit = patience) const {
        return eventually(limit, [&] { return counts().leads; });
    }

  private:
    Relay relay_;
    std::jthread thread_;
};

class RelayTest : public testing::Test {
  protected:
    RelayTest() : connection_(scene_.schema().worker()) {
        scene_.kafka().create_topic(target_, partitions);
    }

    RelayOptions options() {
        RelayOptions options;
        options.connection = scene_.schema().worker();
        options.group = scene_.group();
        options.producer = producer_options(scene_.options().kafka);
        options.take_over_every = 50ms;
        return options;
    }
    // One row for each payload, in one transaction.
    void write(const std::vector<std::string>& payloads, const std::string& key,
               const std::string& topic = "") {
        OwnedTransaction transaction(connection_);
        insert(transaction, payloads, key, topic);
        transaction.commit();
    }
    void insert(Transaction& transaction, const std::vector<std::string>& payloads,
                const std::string& key, const std::string& topic = "") {
        const std::string headers = header_bytes(std::array{Header{"of", key}});
        std::vector<OutboxRow> rows;
        for (const std::string& payload : payloads) {
            rows.push_back({topic.empty() ? target_ : topic, key, payload, headers,
                            digest_of_bytes(payload), key});
            ids_[payload] = uuid_text(digest_of_bytes(payload));
        }
        insert_outbox_rows(transaction, scene_.group(), rows);
    }
    std::int64_t waiting() { return scene_.database().number("SELECT count(*) FROM outbox"); }
    bool all_sent(milliseconds limit = patience) {
        return eventually(limit, [&] { return waiting() == 0; });
    }
    std::vector<support::ReadMessage> read(const std::string& topic = "") {
        return scene_.kafka().read_all(topic.empty() ? target_ : topic, partitions);
    }
    // The payloads of each key, in the order in which they stand in the log for the first time.
    std::map<std::string, std::vector<std::string>> by_key(const std::string& topic = "") {
        std::map<std::string, std::vector<std::string>> all;
        std::set<std::string> seen;
        for (const support::ReadMessage& message : read(topic)) {
            if (seen.insert(*message.payload).second) {
                all[message.key.value_or("")].push_back(*message.payload);
            }
        }
        return all;
    }
    // Each record carries the id of its payload, as its last header.
    void expect_ids() {
        for (const support::ReadMessage& message : read()) {
            ASSERT_EQ(message.headers.size(), 2U);
            EXPECT_EQ(message.headers[0].first, "of");
            EXPECT_EQ(message.headers[0].second, message.key);
            EXPECT_EQ(message.headers[1].first, "onceward-id");
            EXPECT_EQ(message.headers[1].second, ids_.at(*message.payload));
        }
    }
    static std::vector<std::string> numbered(const std::string& name, int count) {
        std::vector<std::string> all;
        for (int i = 0; i < count; ++i) all.push_back(name + "-" + std::to_string(i));
        return all;
    }
    // Locks by advice that sessions of relays hold: the leader's, and that of its sleep.
    std::int64_t locks() {
        return scene_.database().number(
            "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = "
            "'advisory' AND granted AND application_name = 'onceward outbox'");
    }

    static constexpr int partitions = 3;
    Scene scene_;
    std::string target_ = support::unique_name("published");
    Connection connection_;
    std::map<std::string, std::string> ids_;
};

}  // namespace onceward::kafka_tests
