#include "cli/gateway/topic_production.h"

#include "dedup/log.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr auto linger = 2ms;         // a request waits for it
constexpr auto look_every = 2ms;     // for deliveries, while some are under way
constexpr auto producer_pause = 1s;  // before a producer is made anew

std::size_t size_of(const TopicRecord& record) {
    std::size_t bytes = record.payload.size() + (record.key ? record.key->size() : 0) + 100;
    for (const auto& [name, value] : record.headers) bytes += name.size() + value.size();
    return bytes;
}

}  // namespace

TopicProduction::TopicProduction(TopicProductionOptions options) : options_(std::move(options)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

TopicProduction::~TopicProduction() {
    thread_.request_stop();
    thread_.join();
}

void TopicProduction::produce(TopicRecord record, std::function<void(bool delivered)> done) {
    const std::size_t bytes = size_of(record);
    {
        const std::lock_guard lock(mutex_);
        if (bytes_ + bytes <= options_.waiting_bytes) {
            bytes_ += bytes;
            queue_.push_back({std::move(record), std::move(done), bytes});
            wake_.notify_one();
            return;
        }
    }
    done(false);
}

void TopicProduction::run(const std::stop_token& stop) {
    while (true) {
        std::vector<Item> items;
        {
            std::unique_lock lock(mutex_);
            if (under_way_.empty()) wake_.wait(lock, stop, [&] { return !queue_.empty(); });
            items.swap(queue_);
        }
        if (items.empty() && under_way_.empty() && stop.stop_requested()) break;
        try {
            const bool nothing_new = items.empty();
            send(std::move(items));
            if (producer_) producer_->poll(nothing_new ? look_every : 0ms);
        } catch (const ProducerError& error) {
            fail_all(error.what());
            producer_.reset();
            // A request that comes meanwhile waits; a stop does not.
            std::unique_lock lock(mutex_);
            wake_.wait_for(lock, stop, producer_pause, [] { return false; });
        }
    }
    producer_.reset();
}

void TopicProduction::begin() {
    if (producer_) return;
    ProducerOptions options = producer_options(options_.kafka);
    options.linger = linger;
    options.delivery_timeout = options_.delivery_timeout;
    producer_ = std::make_unique<Producer>(std::move(options));
    producer_->on_delivery([this](const Delivery& delivery) {
        if (!delivery.error.empty() && !told_) {
            log_warning("http.produce_failed", {{"error", delivery.error}});
        }
        told_ = !delivery.error.empty();
        finish(delivery.tag, delivery.error.empty());
    });
}

void TopicProduction::send(std::vector<Item> items) {
    // All of them at first, so that where one throws the others are told too.
    std::vector<std::uint64_t> tags;
    for (Item& item : items) {
        tags.push_back(++tag_);
        under_way_.emplace(tag_, std::move(item));
    }
    if (!tags.empty()) begin();
    for (const std::uint64_t tag : tags) {
        const TopicRecord& record = under_way_.at(tag).record;
        std::vector<Header> headers;
        for (const auto& [name, value] : record.headers) headers.push_back({name, value});
        producer_->send({.topic = record.topic,
                         .partition = std::nullopt,
                         .key = record.key,
                         .payload = record.payload,
                         .headers = headers,
                         .timestamp = std::nullopt,
                         .tag = tag});
    }
}

void TopicProduction::fail_all(const std::string& why) {
    log_error("http.producer_failed", {{"error", why}});
    while (!under_way_.empty()) finish(under_way_.begin()->first, false);
}

void TopicProduction::finish(std::uint64_t tag, bool delivered) {
    const auto found = under_way_.find(tag);
    if (found == under_way_.end()) return;
    const Item item = std::move(found->second);
    under_way_.erase(found);
    {
        const std::lock_guard lock(mutex_);
        bytes_ -= item.bytes;
    }
    item.done(delivered);
}

}  // namespace onceward
