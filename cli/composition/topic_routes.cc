#include "cli/composition/topic_routes.h"

#include "dedup/base/logging.h"
#include "dedup/policy/share.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr auto linger = 2ms;         // a request waits for it
constexpr auto look_every = 2ms;     // for deliveries, while some are under way
constexpr auto producer_pause = 1s;  // before a producer is recreated

std::size_t size_of(const TopicRecord& record) {
    std::size_t bytes = record.payload.size() + (record.key ? record.key->size() : 0) + 100;
    for (const auto& [name, value] : record.headers) bytes += name.size() + value.size();
    return bytes;
}

}  // namespace

TopicRoutes::TopicRoutes(TopicRoutesOptions options) : options_(std::move(options)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

TopicRoutes::~TopicRoutes() {
    thread_.request_stop();
    thread_.join();
}

void TopicRoutes::produce(TopicRecord record, Done done) {
    const std::size_t bytes = size_of(record);
    // It would not fit even into an empty queue.
    if (bytes > options_.waiting_bytes) return done(EventFate::too_large);
    {
        const MutexLock lock(mutex_);
        if (has_room(record.topic, bytes)) {
            bytes_ += bytes;
            topic_bytes_[record.topic] += bytes;
            queue_.push_back({std::move(record), std::move(done), bytes});
            wake_.notify_one();
            return;
        }
    }
    done(EventFate::no_room);
}

bool TopicRoutes::has_room(const std::string& topic, std::size_t bytes) {
    if (bytes_ + bytes > options_.waiting_bytes) return false;
    const std::size_t of_topic = topic_bytes_[topic];
    // A record that is larger than the share passes if its topic has no other.
    const std::size_t free = options_.waiting_bytes - bytes_ - bytes;
    return of_topic == 0 || of_topic + bytes <= share_beside(free);
}

void TopicRoutes::run(const std::stop_token& stop) {
    while (true) {
        std::vector<Item> items;
        {
            MutexLock lock(mutex_);
            const auto work = [&]() ONCEWARD_REQUIRES(mutex_) { return !queue_.empty(); };
            if (under_way_.empty()) wake_.wait(lock, stop, work);
            items.swap(queue_);
        }
        if (items.empty() && under_way_.empty() && stop.stop_requested()) break;
        try {
            const bool nothing_new = items.empty();
            send(std::move(items));
            if (producer_) producer_->poll(nothing_new ? look_every : 0ms);
            send_alone();
            if (alone_) alone_->poll();
        } catch (const ProducerError& error) {
            fail_all(error.what());
            producer_.reset();
            alone_.reset();
            // A request that comes during the pause waits; a stop ends the pause.
            MutexLock lock(mutex_);
            wake_.wait_for(lock, stop, producer_pause, [] { return false; });
        }
    }
    producer_.reset();
    alone_.reset();
}

std::unique_ptr<Producer> TopicRoutes::make(std::map<std::string, Secret> properties,
                                            std::function<void(const Delivery&)> handler) const {
    ProducerOptions options = producer_options(options_.kafka);
    options.linger = linger;
    options.delivery_timeout = options_.delivery_timeout;
    options.properties.merge(properties);
    auto producer = std::make_unique<Producer>(std::move(options));
    producer->on_delivery(std::move(handler));
    return producer;
}

void TopicRoutes::delivered(const Delivery& delivery) {
    if (!delivery.error.empty() && is_too_large(delivery.code)) {
        return finish(delivery.tag, EventFate::too_large);
    }
    if (!delivery.error.empty() && !told_) {
        log_warning("http.produce_failed", {{"error", delivery.error}});
    }
    told_ = !delivery.error.empty();
    finish(delivery.tag, delivery.error.empty() ? EventFate::taken : EventFate::unknown);
}

void TopicRoutes::send(std::vector<Item> items) {
    // Take all of them first, so that the others are answered too if one throws.
    std::vector<std::uint64_t> tags;
    for (Item& item : items) {
        tags.push_back(++tag_);
        under_way_.emplace(tag_, std::move(item));
    }
    if (!tags.empty() && !producer_) {
        producer_ =
            make({{"batch.size", lone_record_batch_bytes}}, [this](const Delivery& delivery) {
                // DANGER: another record of the batch may be the one that is too large. This
                // delivery does not tell, so each record is sent again alone.
                if (!delivery.error.empty() && is_too_large(delivery.code)) {
                    refused_.push_back(delivery.tag);
                } else {
                    delivered(delivery);
                }
            });
    }
    for (const std::uint64_t tag : tags) send(*producer_, tag);
}

// The broker has kept none of a batch that it refused, so that there is no second copy of any.
void TopicRoutes::send_alone() {
    if (refused_.empty()) return;
    if (!alone_) {
        alone_ = make({{"batch.num.messages", "1"}},
                      [this](const Delivery& delivery) { delivered(delivery); });
    }
    for (const std::uint64_t tag : std::exchange(refused_, {})) send(*alone_, tag);
}

void TopicRoutes::send(Producer& producer, std::uint64_t tag) try {
    const TopicRecord& record = under_way_.at(tag).record;
    std::vector<Header> headers;
    for (const auto& [name, value] : record.headers) headers.push_back({name, value});
    producer.send({.topic = record.topic,
                   .partition = std::nullopt,
                   .key = record.key,
                   .payload = record.payload,
                   .headers = headers,
                   .timestamp = std::nullopt,
                   .tag = tag});
} catch (const RecordRefused& refused) {
    // Only this record fails: the producer works, and so do its other records.
    Delivery delivery;
    delivery.tag = tag;
    delivery.error = refused.what();
    delivery.code = refused.code;
    delivered(delivery);
}

void TopicRoutes::fail_all(const std::string& why) {
    log_error("http.producer_failed", {{"error", why}});
    refused_.clear();
    while (!under_way_.empty()) finish(under_way_.begin()->first, EventFate::unknown);
}

void TopicRoutes::finish(std::uint64_t tag, EventFate fate) {
    const auto found = under_way_.find(tag);
    if (found == under_way_.end()) return;
    const Item item = std::move(found->second);
    under_way_.erase(found);
    {
        const MutexLock lock(mutex_);
        bytes_ -= item.bytes;
        topic_bytes_[item.record.topic] -= item.bytes;
    }
    item.done(fate);
}

}  // namespace onceward
