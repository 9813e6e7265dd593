#pragma once
// The librdkafka configuration of a group member: what the guarantee needs, then what the user
// passes through. Include it in .cc files only.

#include "consumer/kafka_handles.h"
#include "consumer/kafka_options.h"

namespace onceward {

// Throws KafkaError for a property that librdkafka does not take. `worker` numbers static members.
KafkaConfiguration consumer_configuration(const KafkaOptions& options, int worker);

}  // namespace onceward
