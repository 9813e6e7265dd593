#include "consumer/produce/keyed_producer.h"

#include <algorithm>
#include <utility>

#include "dedup/message/digest.h"

namespace onceward {

using std::chrono::milliseconds;

std::string mint_key() { return new_uuid(); }

KeyedProducer::KeyedProducer(ProducerOptions producer, KeyedSendOptions options)
    : sends_(std::move(options)), producer_(std::move(producer)) {
    producer_.on_delivery([this](const Delivery& delivery) {
        auto fate = sends_.ended(delivery, KeyedSends::Clock::now());
        if (fate) fates_.push_back(std::move(*fate));
    });
}

std::string KeyedProducer::send(const OutgoingRecord& record) {
    std::string key = mint_key();
    send(record, key);
    return key;
}

void KeyedProducer::send(const OutgoingRecord& record, std::string key) {
    const std::uint64_t number = sends_.add(record, std::move(key));
    try {
        producer_.send(sends_.record(number));
    } catch (const RecordRefused&) {
        sends_.drop(number);
        throw;
    }
    send_due();
    tell();
}

void KeyedProducer::send_due() {
    for (const std::uint64_t number : sends_.due(KeyedSends::Clock::now())) {
        try {
            producer_.send(sends_.record(number));
        } catch (const RecordRefused& refused) {
            Delivery delivery;
            delivery.tag = number;
            delivery.error = refused.what();
            delivery.code = refused.code;
            auto fate = sends_.ended(delivery, KeyedSends::Clock::now());
            if (fate) fates_.push_back(std::move(*fate));
        }
    }
}

void KeyedProducer::tell() {
    for (const KeyedDelivery& fate : std::exchange(fates_, {})) {
        if (handler_) handler_(fate);
    }
}

void KeyedProducer::poll(milliseconds wait) {
    const auto next = sends_.next_due();
    if (next) {
        const auto left = std::chrono::ceil<milliseconds>(*next - KeyedSends::Clock::now());
        wait = std::clamp(left, milliseconds{0}, wait);
    }
    producer_.poll(wait);
    send_due();
    tell();
}

bool KeyedProducer::flush(milliseconds limit) {
    const auto end = KeyedSends::Clock::now() + limit;
    while (!sends_.empty()) {
        const auto left = std::chrono::ceil<milliseconds>(end - KeyedSends::Clock::now());
        if (left <= milliseconds{0}) break;
        poll(std::min(left, milliseconds{100}));
    }
    return sends_.empty();
}

}  // namespace onceward
