// A registry that stands still under load, while messages name schemas that nobody has read yet.
// In `make test` for a few seconds; `make registry-test` stops a real one for a minute.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>

#include "cli/composition/registries.h"
#include "dedup/base/backoff.h"
#include "tests/integration/kafka/avro_bytes.h"
#include "tests/integration/kafka/scene.h"
#include "tests/integration/kafka/test_registry.h"
#include "tests/support/unique.h"

namespace onceward::kafka_tests {
namespace {

using support::ProducedMessage;

constexpr milliseconds tick = 100ms;
constexpr int ticks_of_a_schema = 5;
constexpr int messages_of_a_tick = 50;  // for each partition
constexpr int partition_count = 2;

std::chrono::seconds stopped_for() {
    const char* given = std::getenv("ONCEWARD_TEST_REGISTRY_SECONDS");
    return std::chrono::seconds(given == nullptr ? 4 : std::atoi(given));
}

class RegistryUnderLoad : public testing::Test {
  protected:
    RegistryUnderLoad() {
        RegistryConfiguration configuration = registry_.configuration();
        configuration.timeout = 1s;
        Configuration whole;
        whole.registries = {configuration};
        cache_ = make_registries(whole).at("main");
    }

    WorkerOptions options() {
        WorkerOptions made = scene_.options();
        made.topics[0].format.format = Format::avro;
        made.topics[0].format.framing = Framing::confluent;
        made.topics[0].schemas = cache_;
        return made;
    }
    // A schema that no message has named before.
    int new_schema() {
        const std::string number = std::to_string(schemas_++);
        return registry_.add(
            scene_.topic() + "-" + number, "AVRO",
            R"({"type":"record","name":"E)" + number +
                R"(","fields":[{"name":"id","type":"long"},{"name":"note)" + number +
                R"(","type":"string"}]})");
    }
    void send(int schema) {
        std::vector<ProducedMessage> messages;
        for (int partition = 0; partition < partition_count; ++partition) {
            for (ProducedMessage& message : scene_.make(messages_of_a_tick, partition)) {
                const std::string& key = *message.headers[0].second;
                const auto id = std::stoll(key.substr(key.find('-') + 1));
                message.payload = framed(schema, avro_long(id) + avro_text("load"));
                messages.push_back(std::move(message));
            }
        }
        scene_.kafka().produce(scene_.topic(), messages);
        scene_.count(messages);
        sent_ += static_cast<int>(messages.size());
    }
    static bool awaits(Worker& worker) { return !worker.status().awaiting_schema.empty(); }

    TestRegistry registry_;
    std::shared_ptr<SchemaCache> cache_;
    Scene scene_{{.partitions = partition_count}};
    int schemas_ = 0;
    int sent_ = 0;
};

TEST_F(RegistryUnderLoad, WhatStandsStillForATimeLosesNothingAndMakesNoDeadLetter) {
    const auto before = 2s;
    const auto after = 3s;
    const int ticks = static_cast<int>((before + stopped_for() + after) / tick);
    const int stop_at = static_cast<int>(before / tick);
    const int resume_at = stop_at + static_cast<int>(stopped_for() / tick);
    std::vector<int> ids;
    for (int i = 0; i * ticks_of_a_schema < ticks; ++i) ids.push_back(new_schema());
    Worker& worker = scene_.start(options());
    int waiting_ticks = 0;
    auto next = std::chrono::steady_clock::now();
    for (int i = 0; i < ticks; ++i) {
        if (i == stop_at) registry_.stop();
        if (i == resume_at) registry_.resume();
        send(ids[static_cast<std::size_t>(i / ticks_of_a_schema)]);
        if (i >= stop_at && i < resume_at && awaits(worker)) ++waiting_ticks;
        next += tick;
        sleep_unless({}, std::chrono::duration_cast<milliseconds>(
                             next - std::chrono::steady_clock::now()));
    }
    // Without that the registry's absence was not noticed, and nothing was tested.
    EXPECT_GT(waiting_ticks, (resume_at - stop_at) / 2);
    scene_.expect_all_once();
    const std::int64_t letters = scene_.database().number("SELECT count(*) FROM dead_letters");
    EXPECT_EQ(scene_.applied(), sent_);
    EXPECT_EQ(letters, 0);
    EXPECT_FALSE(awaits(worker));
    std::cout << "registry stopped for " << stopped_for().count() << " s: " << sent_
              << " produced with " << ids.size() << " schemas, " << scene_.applied()
              << " applied, " << letters << " dead letters\n";
}

}  // namespace
}  // namespace onceward::kafka_tests
