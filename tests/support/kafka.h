#pragma once
// What tests ask of a broker: topics, messages, committed offsets. Plain librdkafka, none of the
// product's code. Thread-safe; each call waits for its answer. Failures are std::runtime_errors.

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

struct rd_kafka_s;

namespace onceward::support {

using Properties = std::vector<std::pair<std::string, std::string>>;

struct ProducedMessage {
    int partition = 0;
    std::optional<std::string> key;
    std::optional<std::string> payload;  // none: a tombstone
    std::vector<std::pair<std::string, std::optional<std::string>>> headers;
    std::int64_t timestamp_ms = 0;  // 0: now
};

struct ReadMessage {
    int partition = 0;
    std::int64_t offset = 0;
    std::optional<std::string> key;
    std::optional<std::string> payload;
    std::vector<std::pair<std::string, std::optional<std::string>>> headers;
};

class Kafka {
  public:
    // `properties`: of librdkafka, such as those of SASL and TLS.
    explicit Kafka(const std::string& bootstrap_servers, const Properties& properties = {});
    ~Kafka();

    // Whether a broker answers a metadata request in that time.
    bool answers(std::chrono::milliseconds limit);

    void create_topic(const std::string& topic, int partitions, const Properties& config = {});
    // The replication factor of topics that are created from now on.
    void set_copies(int copies) { copies_ = copies; }
    // How many partitions of the topic that broker leads.
    int led_by(const std::string& topic, int broker);
    // Returns when the topic is gone from the metadata.
    void delete_topic(const std::string& topic);
    std::set<std::string> topics();
    // Moves the log's start to `before_offset`.
    void delete_records(const std::string& topic, int partition, std::int64_t before_offset);
    void add_partitions(const std::string& topic, int new_total);
    enum class Right : std::uint8_t { read_topic, read_group, use_cluster };
    // Gives the user that right on the topic or group of that name; from then on, nobody else has
    // any on it.
    void allow(const std::string& user, Right right, const std::string& name);

    // Returns when every message is acknowledged by the broker.
    void produce(const std::string& topic, const std::vector<ProducedMessage>& messages);
    enum class Transaction : std::uint8_t { commit, abort };
    // In one transaction of a transactional producer; leaves a control record in either
    // case.
    void produce_in_transaction(const std::string& topic,
                                const std::vector<ProducedMessage>& messages, Transaction end);

    // The group's committed offset, or nothing where it has none.
    std::optional<std::int64_t> committed_offset(const std::string& group, const std::string& topic,
                                                 int partition);
    // As a person with Kafka's own tools would; the group must have no members.
    void set_committed_offset(const std::string& group, const std::string& topic, int partition,
                              std::int64_t offset);
    // First and end offset of a partition.
    std::pair<std::int64_t, std::int64_t> offsets(const std::string& topic, int partition);
    // Everything that a read_committed consumer sees from the log's start to its end.
    std::vector<ReadMessage> read_all(const std::string& topic, int partitions);

  private:
    struct Finish {
        void operator()(rd_kafka_s* handle) const;
    };
    using Handle = std::unique_ptr<rd_kafka_s, Finish>;
    Handle consumer(const std::string& group) const;
    Handle producer(Properties extra) const;
    void send(rd_kafka_s* producer, const std::string& topic,
              const std::vector<ProducedMessage>& messages) const;
    Handle open(bool is_producer, const Properties& extra) const;

    std::string bootstrap_servers_;
    Properties properties_;
    Handle handle_;  // an idempotent producer, which serves for admin requests as well
    std::mutex sending_;
    int copies_ = 1;
};

// The partition that a producer chooses for the key, as Java's clients and Onceward do (murmur2).
int partition_of(const std::string& key, int partitions);

// The broker that the tests of one executable share: started by the first who asks, on the main
// thread. Where ONCEWARD_TEST_KAFKA holds bootstrap servers, that broker is used instead.
std::string kafka_bootstrap_servers();
Kafka& kafka();

}  // namespace onceward::support
