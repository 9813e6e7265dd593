#pragma once
// What the bench's topics hold: message number -> key, payload, partition. Pure, so that what is to
// be in the table is known without asking.

#include <chrono>
#include <cstdint>
#include <string>

#include "dedup/base/types.h"

namespace onceward::bench {

// How a message carries its key and its fields.
enum class Form : std::uint8_t {
    plain,    // JSON, the key in a header
    connect,  // the same in the envelope of Kafka Connect, with its schema
    keyed,    // plain JSON, the key as the record's own key
    avro,     // the plain form's fields in Avro, framed for a schema registry
};

struct Workload {
    std::string topic;  // its keys are this topic's own
    std::int64_t messages = 0;
    int partitions = 4;
    // One of ten messages repeats the key of an earlier one in another partition, nine of ten times
    // one of the last 50,000.
    bool duplicates = false;
    Form form = Form::plain;
};

inline Partition partition_of(const Workload& workload, std::int64_t number) {
    return Partition{static_cast<std::int32_t>(number % workload.partitions)};
}
// The message whose key this one has: itself, unless it is a duplicate.
std::int64_t original(const Workload& workload, std::int64_t number);
std::int64_t distinct_keys(const Workload& workload);
// A UUID.
std::string key_of(const Workload& workload, std::int64_t number);
// JSON of 374 bytes.
std::string payload(const std::string& key, std::int64_t number);
// The same with this `created_at`, to the microsecond.
std::string payload(const std::string& key, std::int64_t number,
                    std::chrono::system_clock::time_point created_at);
// In Connect's envelope: the five fields that are asked for, with their schema.
std::string connect_payload(const std::string& key, std::int64_t number);
// The fields of payload() in Avro, the time as a number, in the frame that names schema 1.
std::string avro_payload(const std::string& key, std::int64_t number);
// What a registry answers about that schema.
std::string avro_schema_answer();

// Steele, Lea and Flood's SplitMix64: the same on every machine.
std::uint64_t mix(std::uint64_t value);
// A JSON object without its end, made up to 374 bytes by fields that no column asks for.
std::string filled_up(std::string text);

}  // namespace onceward::bench
