#pragma once
// A message of librdkafka's as a Record. Include it in .cc files only.

#include "consumer/kafka/kafka_handles.h"
#include "dedup/message/message.h"

namespace onceward {

// The record's views point into the message, which the record then owns. The message must be gone
// before its client.
Record to_record(KafkaMessage message);

}  // namespace onceward
