#pragma once
// The names of the headers in topics of dead letters. Literals alone.

#include <array>
#include <string_view>

#include "dedup/message/letter_marks.h"

namespace onceward::letter_names {

using Name = std::string_view;

namespace own {
inline constexpr Name topic = letter_marks[0], partition = "onceward-dlq-partition",
                      offset = "onceward-dlq-offset", timestamp = "onceward-dlq-timestamp",
                      group = "onceward-dlq-group", identity = "onceward-dlq-identity",
                      kind = "onceward-dlq-class", sqlstate = "onceward-dlq-sqlstate",
                      reason = "onceward-dlq-reason", attempts = "onceward-dlq-attempts",
                      key = "onceward-dlq-key", digest = "onceward-dlq-digest";
inline constexpr std::array all{topic, partition, offset, timestamp, group, identity,
                                kind,  sqlstate,  reason, attempts,  key,   digest};
}  // namespace own

// org.apache.kafka.connect.runtime.errors.DeadLetterQueueReporter.
namespace connect {
inline constexpr Name topic = letter_marks[1], partition = "__connect.errors.partition",
                      offset = "__connect.errors.offset",
                      connector = "__connect.errors.connector.name",
                      task = "__connect.errors.task.id", stage = "__connect.errors.stage",
                      executing_class = "__connect.errors.class.name",
                      exception = "__connect.errors.exception.class.name",
                      message = "__connect.errors.exception.message",
                      trace = "__connect.errors.exception.stacktrace";
inline constexpr std::array all{topic, partition,       offset,    connector, task,
                                stage, executing_class, exception, message,   trace};
}  // namespace connect

// org.springframework.kafka.support.KafkaHeaders.
namespace spring {
inline constexpr Name topic = letter_marks[2], partition = "kafka_dlt-original-partition",
                      offset = "kafka_dlt-original-offset",
                      timestamp = "kafka_dlt-original-timestamp",
                      timestamp_type = "kafka_dlt-original-timestamp-type",
                      group = "kafka_dlt-original-consumer-group",
                      exception = "kafka_dlt-exception-fqcn",
                      cause = "kafka_dlt-exception-cause-fqcn",
                      message = "kafka_dlt-exception-message",
                      trace = "kafka_dlt-exception-stacktrace",
                      key_exception = "kafka_dlt-key-exception-fqcn",
                      key_message = "kafka_dlt-key-exception-message",
                      key_trace = "kafka_dlt-key-exception-stacktrace";
// They come before the others.
inline constexpr std::array exceptions{exception,     cause,       message,  trace,
                                       key_exception, key_message, key_trace};
inline constexpr std::array all{topic,         partition,   offset,   timestamp, timestamp_type,
                                group,         exception,   cause,    message,   trace,
                                key_exception, key_message, key_trace};
}  // namespace spring

}  // namespace onceward::letter_names
