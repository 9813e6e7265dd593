#include "lab/bench/topic.h"

#include <chrono>
#include <exception>
#include <stdexcept>

#include "lab/kafka/topic_admin.h"

namespace onceward::bench {

using namespace std::chrono_literals;

void send(Producer& producer, const Workload& workload, std::int64_t number, const std::string& key,
          const std::string& payload) {
    const Header header{"Idempotency-Key", key};
    OutgoingRecord record;
    record.topic = workload.topic;
    record.partition = partition_of(workload, number);
    record.payload = payload;
    if (workload.form == Form::keyed) {
        record.key = key;
    } else {
        record.headers = {&header, 1};
    }
    producer.send(record);
}

void finish(Producer& producer) {
    if (producer.flush(2min) && producer.failed() == 0) return;
    throw std::runtime_error("the bench's messages could not be produced: " +
                             producer.first_failure());
}

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
        send(producer, workload_, number, key, text);
    }
    finish(producer);
}

}  // namespace onceward::bench
