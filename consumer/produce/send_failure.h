#pragma once
// Why Kafka does not have a record that was sent. Plain values; pure.

#include <cstdint>
#include <string_view>

namespace onceward {

enum class SendFailure : std::uint8_t {
    passing,  // temporary: no answer in time, too few replicas, the leader is away
    record,   // Kafka will never take this record: it is too large or invalid. An operator must act
    topic,    // Kafka takes no record of this topic: it does not exist, or the user has no right
};
std::string_view to_text(SendFailure failure);
// Classifies librdkafka's error code. An unknown code is `passing`: the key waits, and the record
// is sent again.
SendFailure send_failure(int code);

}  // namespace onceward
