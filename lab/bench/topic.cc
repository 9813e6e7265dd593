#include "lab/bench/topic.h"

#include <chrono>
#include <exception>
#include <stdexcept>

#include "consumer/produce/producer.h"
#include "lab/kafka/topic_admin.h"

namespace onceward::bench {

using namespace std::chrono_literals;

Topic::Topic(std::string bootstrap_servers, Workload workload)
    : bootstrap_servers_(std::move(bootstrap_servers)), workload_(std::move(workload)) {
    create_topic(bootstrap_servers_, workload_.topic, workload_.partitions);
}

Topic::~Topic() {
    try {
        delete_topic(bootstrap_servers_, workload_.topic);
    } catch (const std::exception&) {
        // The broker is gone, or unusable: what was measured is still valid.
    }
}

void Topic::fill() const {
    ProducerOptions options;
    options.bootstrap_servers = bootstrap_servers_;
    Producer producer(options);
    for (std::int64_t number = 0; number < workload_.messages; ++number) {
        const std::string key = key_of(workload_, number);
        const std::string text = workload_.form == Form::connect ? connect_payload(key, number)
                                 : workload_.form == Form::avro  ? avro_payload(key, number)
                                                                 : payload(key, number);
        const Header header{"Idempotency-Key", key};
        OutgoingRecord record;
        record.topic = workload_.topic;
        record.partition = partition_of(workload_, number);
        record.payload = text;
        if (workload_.form == Form::keyed) {
            record.key = key;
        } else {
            record.headers = {&header, 1};
        }
        producer.send(record);
    }
    if (!producer.flush(2min) || producer.failed() > 0) {
        throw std::runtime_error("the bench's messages could not be produced: " +
                                 producer.first_failure());
    }
}

}  // namespace onceward::bench
