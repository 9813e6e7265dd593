#include "lab/bench/workload.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "consumer/decode/avro_reader.h"
#include "consumer/decode/avro_schema.h"

namespace onceward::bench {
namespace {

Workload workload(bool duplicates) { return {"topic", 20'000, 4, duplicates}; }

TEST(Workload, APayloadIsJsonOf374Bytes) {
    for (const std::int64_t number : {0LL, 9'999LL, 123'456'789LL}) {
        const std::string text = payload(key_of(workload(false), number), number);
        EXPECT_EQ(text.size(), 374U) << text;
        EXPECT_EQ(nlohmann::json::parse(text)["event_id"], key_of(workload(false), number));
    }
}

TEST(Workload, TheConnectFormHoldsTheSameFields) {
    const std::string key = key_of(workload(false), 7);
    const auto plain = nlohmann::json::parse(payload(key, 7));
    const auto connect = nlohmann::json::parse(connect_payload(key, 7));
    for (const auto& field : connect["schema"]["fields"]) {
        const std::string name = field["field"];
        EXPECT_EQ(connect["payload"][name], plain[name]) << name;
    }
    EXPECT_EQ(connect["payload"].size(), connect["schema"]["fields"].size());
}

TEST(Workload, TheAvroFormHoldsTheSameFields) {
    const auto answer = nlohmann::json::parse(avro_schema_answer());
    const AvroSchema schema(
        {.language = SchemaLanguage::avro, .text = answer["schema"], .references = {}});
    for (const std::int64_t number : {0LL, 7LL, 123'456'789LL}) {
        const std::string key = key_of(workload(false), number);
        const std::string bytes = avro_payload(key, number);
        EXPECT_EQ(bytes.substr(0, 5), std::string("\0\0\0\0\1", 5));
        std::pmr::monotonic_buffer_resource arena;
        AvroReader reader(schema, std::string_view(bytes).substr(5), arena);
        Value value;
        ASSERT_TRUE(reader.value(schema.root(), value)) << reader.fault_text();
        EXPECT_TRUE(reader.rest().empty());
        auto plain = nlohmann::json::parse(payload(key, number));
        const auto avro = nlohmann::json::parse(value.text);
        EXPECT_EQ(avro, plain) << "the time too: in JSON it is written as it was";
    }
}

TEST(Workload, WithoutDuplicatesEachKeyIsItsOwn) {
    std::set<std::string> keys;
    for (std::int64_t number = 0; number < 20'000; ++number) {
        keys.insert(key_of(workload(false), number));
    }
    EXPECT_EQ(keys.size(), 20'000U);
    EXPECT_EQ(distinct_keys(workload(false)), 20'000);
}

TEST(Workload, ADuplicateFollowsItsOriginalInAnotherPartition) {
    const Workload with = workload(true);
    std::int64_t originals = 0;
    std::map<Partition, int> duplicates;
    for (std::int64_t number = 0; number < with.messages; ++number) {
        const std::int64_t at = original(with, number);
        if (at == number) {
            ++originals;
            continue;
        }
        ASSERT_LT(at, number);
        ASSERT_GE(at, 0);
        EXPECT_EQ(original(with, at), at);
        EXPECT_NE(partition_of(with, at), partition_of(with, number));
        EXPECT_EQ(key_of(with, at), key_of(with, number));
        ++duplicates[partition_of(with, number)];
    }
    EXPECT_EQ(duplicates.size(), 4U);
    for (const auto& [partition, count] : duplicates) EXPECT_GT(count, 400) << partition.raw();
    EXPECT_EQ(originals, distinct_keys(with));
    EXPECT_NEAR(static_cast<double>(originals), 18'000, 200);
}

TEST(Workload, MostDuplicatesAreNear) {
    const Workload with{"topic", 2'000'000, 4, true};
    int near = 0;
    int all = 0;
    for (std::int64_t number = 1'000'000; number < 1'100'000; ++number) {
        if (original(with, number) == number) continue;
        ++all;
        if (number - original(with, number) <= 50'000) ++near;
    }
    EXPECT_GT(near, all * 8 / 10);
    EXPECT_LT(near, all);
}

TEST(Workload, KeysAreTheTopicsOwn) { EXPECT_NE(key_of({"a", 10}, 1), key_of({"b", 10}, 1)); }

}  // namespace
}  // namespace onceward::bench
