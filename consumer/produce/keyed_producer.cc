#include "consumer/produce/keyed_producer.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "consumer/produce/producer.h"
#include "dedup/base/backoff.h"
#include "dedup/message/digest.h"
#include "dedup/message/minted.h"

namespace onceward {
namespace {

constexpr std::chrono::milliseconds longest_resend_pause{60'000};

}  // namespace

std::uint64_t KeyedSends::add(const OutgoingRecord& record, std::string key) {
    if (key.empty()) throw std::invalid_argument("an operation's idempotency key is empty");
    Message& message = messages_[++last_];
    message.key = std::move(key);
    message.topic = record.topic;
    message.record_key = std::optional<std::string>(record.key);
    message.payload = std::optional<std::string>(record.payload);
    for (const Header& header : record.headers) {
        if (header.name == options_.key_header) continue;
        message.headers.emplace_back(header.name, std::optional<std::string>(header.value));
    }
    message.headers.emplace_back(options_.key_header, message.key);
    for (const auto& [name, value] : message.headers) message.header_views.push_back({name, value});
    message.tag = record.tag;
    message.record = record;
    message.record.topic = message.topic;
    message.record.key = message.record_key;
    message.record.payload = message.payload;
    message.record.headers = message.header_views;
    message.record.tag = last_;
    return last_;
}

std::optional<KeyedDelivery> KeyedSends::ended(const Delivery& delivery, Clock::time_point now) {
    const auto found = messages_.find(delivery.tag);
    if (found == messages_.end()) return std::nullopt;
    Message& message = found->second;
    const bool may_pass =
        !delivery.error.empty() && send_failure(delivery.code) == SendFailure::passing;
    if (may_pass && message.sends <= options_.resends) {
        const Backoff backoff{.first = options_.pause, .longest = longest_resend_pause};
        message.due = now + backoff.whole(message.sends);
        return std::nullopt;
    }
    KeyedDelivery fate{std::move(message.key), message.sends, delivery};
    fate.delivery.tag = message.tag;
    messages_.erase(found);
    return fate;
}

std::vector<std::uint64_t> KeyedSends::due(Clock::time_point now) {
    std::vector<std::uint64_t> numbers;
    for (auto& [number, message] : messages_) {
        if (!message.due || *message.due > now) continue;
        message.due.reset();
        ++message.sends;
        ++resent_;
        numbers.push_back(number);
    }
    return numbers;
}

std::optional<KeyedSends::Clock::time_point> KeyedSends::next_due() const {
    std::optional<Clock::time_point> first;
    for (const auto& [number, message] : messages_) {
        if (message.due && (!first || *message.due < *first)) first = message.due;
    }
    return first;
}

using std::chrono::milliseconds;

std::string KeyedSends::new_key() const { return options_.uuid7 ? new_uuid7() : new_uuid(); }

KeyedProducer::KeyedProducer(ProducerOptions producer, KeyedSendOptions options)
    : sends_(std::move(options)), producer_(std::move(producer)) {
    producer_.on_delivery([this](const Delivery& delivery) {
        auto fate = sends_.ended(delivery, KeyedSends::Clock::now());
        if (fate) fates_.push_back(std::move(*fate));
    });
}

std::string KeyedProducer::send(const OutgoingRecord& record) {
    std::string key = sends_.new_key();
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
            const Delivery delivery{.tag = number, .error = refused.what(), .code = refused.code};
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
