#include "consumer/produce/keyed_sends.h"

#include <algorithm>
#include <stdexcept>

#include "consumer/produce/send_failure.h"
#include "dedup/base/backoff.h"

namespace onceward {
namespace {

constexpr std::chrono::milliseconds longest_resend_pause{60'000};

std::optional<std::string> copy_of(const std::optional<std::string_view>& bytes) {
    return bytes ? std::optional(std::string(*bytes)) : std::nullopt;
}

}  // namespace

std::uint64_t KeyedSends::add(const OutgoingRecord& record, std::string key) {
    if (key.empty()) throw std::invalid_argument("an operation's idempotency key is empty");
    Message& message = messages_[++last_];
    message.key = std::move(key);
    message.topic = record.topic;
    message.record_key = copy_of(record.key);
    message.payload = copy_of(record.payload);
    for (const Header& header : record.headers) {
        if (header.name == options_.key_header) continue;
        message.headers.emplace_back(header.name, copy_of(header.value));
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

const OutgoingRecord& KeyedSends::record(std::uint64_t number) const {
    return messages_.at(number).record;
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

}  // namespace onceward
