#pragma once
// Dead letters of the topic `orders` in a table, and librdkafka's mock cluster, to which the
// commands of `onceward dlq` send them again. For one test at a time.

#include "tests/integration/postgres/operator_scene.h"
#include "tests/support/kafka.h"

namespace onceward::operator_tests {

class DeadLetters : public Operator {
  protected:
    DeadLetters() { cluster_.create_topic("orders", 2); }

    void letter(std::int64_t offset, const std::string& key,
                const std::string& error_class = "sink", const std::string& record_key = "customer",
                const std::string& headers = "[]") {
        database().execute(
            "INSERT INTO dead_letters (consumer_group, topic, identity, partition, record_offset, "
            "record_key, headers, payload, key_text, error_class, reason, attempts) VALUES "
            "('billing', 'orders', 'T', 1, $1, $2, $3, $4, $5, $6, 'why', 1)",
            {std::to_string(offset), record_key, headers, "payload of " + key, key, error_class});
    }
    Outcome dlq(std::vector<std::string> arguments, const std::string& more = "") {
        const Configured configured(cluster_.bootstrap_servers(), more);
        arguments.insert(arguments.begin(), "dlq");
        arguments.insert(arguments.end(), {"-c", configured.file()});
        return run_as_owner(std::move(arguments));
    }
    std::vector<std::string> payloads() {
        std::vector<std::string> payloads;
        for (const auto& message : read()) payloads.push_back(message.payload.value_or("none"));
        return payloads;
    }
    std::vector<support::ReadMessage> read() {
        return support::Kafka(cluster_.bootstrap_servers()).read_all("orders", 2);
    }
    std::string states() {
        return database().value(
            "SELECT coalesce(string_agg(concat_ws(' ', record_offset, resolved_at IS NULL, "
            "redrive_began_at IS NULL, redriven_at IS NULL), ', ' ORDER BY record_offset), '') "
            "FROM dead_letters");
    }

    MockCluster cluster_;
};

}  // namespace onceward::operator_tests
