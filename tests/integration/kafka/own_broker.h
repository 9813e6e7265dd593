#pragma once
// A broker that may be stopped and frozen without harm to other tests; its secure listener's
// certificate has expired.

#include "tests/support/kafka.h"
#include "tests/support/kafka_broker.h"

namespace onceward::kafka_tests {

// Started by the first who asks, on the main thread.
inline support::KafkaBroker& own_broker() {
    static support::KafkaBroker broker([] {
        support::KafkaBrokerOptions options;
        options.secure = true;
        options.expired_certificate = true;
        return options;
    }());
    return broker;
}

inline support::Kafka& own_kafka() {
    static support::Kafka kafka(own_broker().bootstrap_servers());
    return kafka;
}

}  // namespace onceward::kafka_tests
