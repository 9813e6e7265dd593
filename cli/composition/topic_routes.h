#pragma once
// The front door's way to Kafka: a producer in a thread of its own. Thread-safe. If Kafka does not
// take a record within `delivery_timeout`, or too many wait already, its request gets an answer
// that says so and may be sent again; a producer that fails for good is recreated. A record that is
// larger than Kafka allows is refused alone: a broker refuses the whole batch without saying which
// record it was, so each of them is sent again by itself.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "consumer/produce/producer.h"
#include "dedup/base/mutex.h"
#include "gateway/requests/keyed_request.h"

namespace onceward {

struct TopicRoutesOptions {
    KafkaOptions kafka;
    // How long a request waits for the log. A longer time survives a broker's restart, but holds
    // the requests during it.
    std::chrono::milliseconds delivery_timeout{10'000};
    // Bytes of records that wait; beyond it they are refused at once. One topic takes at most its
    // share_beside() of them: a topic that accepts nothing leaves room for the others.
    std::size_t waiting_bytes = 64 * 1024 * 1024;
};

class TopicRoutes final : public TopicWriter {
  public:
    explicit TopicRoutes(TopicRoutesOptions options);
    // Waits for what is under way, no longer than the delivery's time; every request is answered.
    ~TopicRoutes() override;
    void produce(TopicRecord record, Done done) override;

  private:
    struct Item {
        TopicRecord record;
        Done done;
        std::size_t bytes = 0;
    };
    bool has_room(const std::string& topic, std::size_t bytes) ONCEWARD_REQUIRES(mutex_);
    void run(const std::stop_token& stop);
    void send(std::vector<Item> items);
    void send_alone();
    void send(Producer& producer, std::uint64_t tag);
    std::unique_ptr<Producer> make(std::map<std::string, Secret> properties,
                                   std::function<void(const Delivery&)> handler) const;
    void delivered(const Delivery& delivery);
    void fail_all(const std::string& why);
    void finish(std::uint64_t tag, EventFate fate);

    TopicRoutesOptions options_;
    Mutex mutex_;
    std::condition_variable_any wake_;
    std::vector<Item> queue_ ONCEWARD_GUARDED_BY(mutex_);
    std::size_t bytes_ ONCEWARD_GUARDED_BY(mutex_) = 0;  // queued and under way
    std::map<std::string, std::size_t> topic_bytes_ ONCEWARD_GUARDED_BY(mutex_);  // of these
    // Used only by the thread:
    std::map<std::uint64_t, Item> under_way_;
    std::uint64_t tag_ = 0;
    bool told_ = false;
    std::unique_ptr<Producer> producer_;
    std::vector<std::uint64_t> refused_;  // with their batches, as too large
    std::unique_ptr<Producer> alone_;     // each of its batches is one record; often none
    std::jthread thread_;                 // the last member: it uses the others
};

}  // namespace onceward
