#pragma once
// A group member of librdkafka, and its configuration: what the guarantee needs, then what the user
// passes through. Include it in .cc files only.

#include <functional>
#include <string>

#include "consumer/kafka/kafka_handles.h"
#include "consumer/kafka/kafka_options.h"

namespace onceward {

// What a client calls back, on the thread that polls it. librdkafka's opaque pointer leads to one
// of these, or is null.
struct ClientCallbacks {
    std::function<void(rd_kafka_resp_err_t, rd_kafka_topic_partition_list_t*)> rebalance;
    // The connections' failures, which are logged already.
    std::function<void(int code, const std::string& reason)> error;
};

// A consumer that is polled by itself. Throws KafkaError for a property that librdkafka does not
// take. `worker` numbers static members. The callbacks may be null; they outlive the client.
KafkaClient make_consumer(const KafkaOptions& options, int worker, ClientCallbacks* callbacks);

}  // namespace onceward
