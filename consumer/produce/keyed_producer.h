#pragma once
// Writes operations to Kafka, each under an idempotency key that is minted once. librdkafka's own
// retries carry the key, and so does the copy that is sent after a failed delivery whose outcome is
// unknown. Used by one thread, in which the delivery handler also runs. Copies what it sends and
// holds it until its outcome is known. Throws as Producer does.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "consumer/produce/producer.h"

namespace onceward {

struct KeyedSendOptions {
    // The header of the key.
    std::string key_header = "Idempotency-Key";
    // How often a message is sent again if its delivery failed for a reason that may pass. A higher
    // number gives up later. A copy that arrives in addition to an earlier one has the same key, so
    // it has no second effect.
    int resends = 3;
    // The pause before the first of these; doubled each time, up to a minute.
    std::chrono::milliseconds pause{1000};
    // Keys tell when they were minted: UUIDs of version 7, for a topic with `key.minted_at: uuid7`.
    bool uuid7 = false;
};

// What became of one operation's message.
struct KeyedDelivery {
    std::string key;
    int sends = 1;      // by the application; librdkafka's own retries are not counted
    Delivery delivery;  // of the last one, with the tag of the record as it was given
};

// What a KeyedProducer has under way: each operation's message under its one key, how often it was
// sent, and when it is sent again. Pure: the clock is passed in, no I/O. Used by one thread; copies
// what it is given and owns it until its outcome is known.
class KeyedSends {
  public:
    using Clock = std::chrono::steady_clock;

    explicit KeyedSends(KeyedSendOptions options) : options_(std::move(options)) {}

    // A key for a new operation.
    std::string new_key() const;
    // Returns a number for the message, which its deliveries carry. Headers with the key's name are
    // replaced. Throws std::invalid_argument for an empty key.
    std::uint64_t add(const OutgoingRecord& record, std::string key);
    // The record to send, with its key, and the number as its tag. Valid until its outcome is
    // known.
    const OutgoingRecord& record(std::uint64_t number) const { return messages_.at(number).record; }
    // Drops a message that was never sent.
    void drop(std::uint64_t number) { messages_.erase(number); }
    // The message's outcome; nullopt if it is to be sent again.
    std::optional<KeyedDelivery> ended(const Delivery& delivery, Clock::time_point now);
    // The messages to send again now; they are under way after this call.
    std::vector<std::uint64_t> due(Clock::time_point now);
    // When the first waiting message is due; nullopt if none waits.
    std::optional<Clock::time_point> next_due() const;
    bool empty() const { return messages_.empty(); }
    std::int64_t resent() const { return resent_; }

  private:
    struct Message {
        std::string key;
        std::string topic;
        std::optional<std::string> record_key;
        std::optional<std::string> payload;
        std::vector<std::pair<std::string, std::optional<std::string>>> headers;
        std::vector<Header> header_views;
        OutgoingRecord record;  // views of the above
        std::uint64_t tag = 0;  // as it was given
        int sends = 1;
        std::optional<Clock::time_point> due;
    };
    KeyedSendOptions options_;
    std::map<std::uint64_t, Message> messages_;  // their places stay, for the views
    std::uint64_t last_ = 0;
    std::int64_t resent_ = 0;
};

class KeyedProducer {
  public:
    explicit KeyedProducer(ProducerOptions producer, KeyedSendOptions options = {});

    // Called once for each operation, when Kafka has its message or it is given up. A message that
    // was given up may have arrived anyway: a retry must use the same key. The handler must not
    // call send().
    void on_delivery(std::function<void(const KeyedDelivery&)> handler) {
        handler_ = std::move(handler);
    }
    // Sends a new operation; returns its key.
    std::string send(const OutgoingRecord& record);
    // Sends an operation that has a key already: it began before this process, or comes from a
    // caller that has its own retries.
    void send(const OutgoingRecord& record, std::string key);
    // Serves deliveries and sends again what is due; waits at most `wait` for one.
    void poll(std::chrono::milliseconds wait = std::chrono::milliseconds{0});
    // Waits until all outcomes are known. Returns false if they are not after `limit`.
    bool flush(std::chrono::milliseconds limit);

    std::int64_t resent() const { return sends_.resent(); }
    Producer& producer() { return producer_; }

  private:
    void send_due();
    void tell();
    KeyedSends sends_;
    std::function<void(const KeyedDelivery&)> handler_;
    std::vector<KeyedDelivery> fates_;  // not reported yet
    Producer producer_;  // the last member: its end may still report deliveries to the others
};

}  // namespace onceward
