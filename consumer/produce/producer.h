#pragma once
// Writes records to Kafka through librdkafka's idempotent producer: its own retries never make a
// second copy. Used by one thread, in which the delivery handler also runs (inside send(), poll()
// and flush()). Copies what it sends. A record that Kafka refuses is counted and handed to the
// handler; what ends the producer throws ProducerError.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "consumer/kafka/kafka_options.h"
#include "dedup/base/secret.h"
#include "dedup/base/types.h"
#include "dedup/message/message.h"

namespace onceward {

// Why Kafka does not have a record that was sent. Plain values; pure.
enum class SendFailure : std::uint8_t {
    passing,  // temporary: no answer in time, too few replicas, the leader is away
    record,   // Kafka will never take this record: it is too large or invalid. An operator must act
    topic,    // Kafka takes no record of this topic: it does not exist, or the user has no right
};
std::string_view to_text(SendFailure failure);
// Classifies librdkafka's error code. An unknown code is `passing`: the key waits, and the record
// is sent again.
SendFailure send_failure(int code);

// Whether librdkafka's code says that the broker refused a record's time. If the time came from
// this process's clock, that clock differs from the broker's by more than the topic allows: by
// default, it is an hour ahead.
bool is_time_refused(int code);

// Whether that code of librdkafka says that a record, or its batch, is too large.
bool is_too_large(int code);

// `batch.size` for callers that must know which record was too large: a broker refuses a whole
// batch that is larger than its topic allows, and a batch of this size holds no large record
// together with others. If the topic allows even less, some records may be refused together with
// the large one.
constexpr const char* lone_record_batch_bytes = "65536";

// The producer cannot continue: a property that librdkafka refuses, a fatal error, no broker.
class ProducerError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Kafka's client will not even queue this record; the producer itself can continue. The code is
// librdkafka's.
class RecordRefused : public ProducerError {
  public:
    RecordRefused(int error_code, const std::string& text)
        : ProducerError(text), code(error_code) {}
    int code;
};

struct ProducerOptions {
    // `host:port,host:port`
    std::string bootstrap_servers;
    // librdkafka properties, which override the ones below. Some are secrets, so none is ever
    // printed.
    std::map<std::string, Secret> properties;
    // How long a batch waits for more records. Longer makes larger batches, shorter a lower
    // latency.
    std::chrono::milliseconds linger{20};
    // The most records that wait in this process; above that send() blocks. Each takes its own size
    // in memory.
    int queued_records_max = 100'000;
    // How long librdkafka tries before a record counts as failed.
    std::chrono::milliseconds delivery_timeout{120'000};
    // If records wait this long without any answer, it asks the bootstrap servers again.
    std::chrono::milliseconds bootstrap_again{5'000};
};

// The brokers and credentials of a consumer's options; properties that only a consumer has would be
// refused.
ProducerOptions producer_options(const KafkaOptions& options);

struct OutgoingRecord {
    std::string_view topic;
    // Nullopt: librdkafka chooses by the key, as Java's clients do, or any partition if there is no
    // key.
    std::optional<Partition> partition{};
    std::optional<std::string_view> key{};
    std::optional<std::string_view> payload{};  // nullopt: a tombstone
    std::span<const Header> headers{};
    std::optional<std::chrono::milliseconds> timestamp{};  // nullopt: now
    std::uint64_t tag = 0;                                 // comes back in the Delivery
};

// What became of one record.
struct Delivery {
    std::uint64_t tag = 0;
    Partition partition{};
    Offset offset{};    // meaningful only if there is no error
    std::string error;  // empty: Kafka has it
    int code = 0;       // librdkafka's, of the error
};

class Producer {
  public:
    explicit Producer(ProducerOptions options);
    // Gives up what is still queued: flush() first.
    ~Producer();

    // Called once for each record sent, in the thread that uses the producer. It must not call
    // send().
    void on_delivery(std::function<void(const Delivery&)> handler);
    // Queues the record; waits, serving deliveries, while the queue is full. Throws ProducerError,
    // and RecordRefused before anything was served.
    void send(const OutgoingRecord& record);
    // Serves deliveries that have arrived; waits at most `wait` for one. Throws ProducerError after
    // a fatal error.
    void poll(std::chrono::milliseconds wait = std::chrono::milliseconds{0});
    // Waits until nothing is queued or under way. Returns false if something still is after
    // `limit`.
    bool flush(std::chrono::milliseconds limit);
    // How many partitions the topic has. Throws ProducerError if no broker answers or the topic
    // does not exist.
    std::int32_t partitions(const std::string& topic, std::chrono::milliseconds limit);

    std::int64_t sent() const;
    std::int64_t delivered() const;
    std::int64_t failed() const;
    // Why the first failed record failed.
    const std::string& first_failure() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// Waits, serving deliveries, until the record after `sent` others is due, at `rate` records a
// second since `begin`, or until `stopped`. Without a rate it is due at once.
void wait_for_turn(Producer& producer, std::chrono::steady_clock::time_point begin,
                   std::int64_t sent, const std::optional<double>& rate,
                   const std::function<bool()>& stopped);

}  // namespace onceward
