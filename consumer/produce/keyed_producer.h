#pragma once
// Writes operations to Kafka, each under an idempotency key that is minted once. librdkafka's own
// retries carry the key, and so does the copy that is sent after a failed delivery whose outcome is
// unknown. Used by one thread, in which the delivery handler also runs. Copies what it sends and
// holds it until its outcome is known. Throws as Producer does.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "consumer/produce/keyed_sends.h"
#include "consumer/produce/producer.h"

namespace onceward {

// A key for a new operation: a random UUID (version 4, RFC 9562). Store it with the operation
// before the first try, and never create another one for a retry.
std::string mint_key();

class KeyedProducer {
  public:
    explicit KeyedProducer(ProducerOptions producer, KeyedSendOptions options = {});

    // Called once for each operation, when Kafka has its message or it is given up. A message that
    // was given up may have arrived all the same: who tries again says the same key. It must not
    // call send().
    void on_delivery(std::function<void(const KeyedDelivery&)> handler) {
        handler_ = std::move(handler);
    }
    // A new operation; its key.
    std::string send(const OutgoingRecord& record);
    // One that has its key: it began before this process, or came from somebody who has retries of
    // their own.
    void send(const OutgoingRecord& record, std::string key);
    // Serves deliveries and sends again what is due, waiting for one at most so long.
    void poll(std::chrono::milliseconds wait = std::chrono::milliseconds{0});
    // Waits until the fate of all is known. False where it is not after `limit`.
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
