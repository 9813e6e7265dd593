#include "lab/demo/workload.h"

#include <algorithm>
#include <cassert>
#include <cstdio>

namespace onceward::demo {
namespace {

constexpr std::size_t recent_keys = 500;

// A UUID of version 4, but from the seed.
Digest uuid_of(std::mt19937_64& random) {
    Digest uuid;
    for (std::uint8_t& byte : uuid.bytes) byte = static_cast<std::uint8_t>(random());
    uuid.bytes[6] = static_cast<std::uint8_t>((uuid.bytes[6] & 0x0F) | 0x40);
    uuid.bytes[8] = static_cast<std::uint8_t>((uuid.bytes[8] & 0x3F) | 0x80);
    return uuid;
}

// Everything in it comes from the key, so that a repeat is the same message again.
std::string payload_of(Topic topic, const Digest& key) {
    static constexpr std::array<const char*, 4> countries{"CH", "JP", "KE", "BR"};
    static constexpr std::array<const char*, 3> currencies{"EUR", "USD", "JPY"};
    const std::string id = uuid_text(key);
    const int account = key.bytes[0] * 256 + key.bytes[1];
    const int amount = key.bytes[2] * 256 + key.bytes[3];
    std::array<char, 512> text{};
    switch (topic) {
        case Topic::payments:
            std::snprintf(text.data(), text.size(),
                          R"({"payment_id":"%s","account":"account-%05d","amount_minor":"%d",)"
                          R"("currency":"%s","created_at":"2026-01-31T12:%02d:%02dZ",)"
                          R"("state":"PAYMENT_STATE_SETTLED","payer":{"country":"%s"}})",
                          id.c_str(), account, amount, currencies[key.bytes[4] % 3],
                          key.bytes[5] % 60, key.bytes[6] % 60, countries[key.bytes[7] % 4]);
            break;
        case Topic::orders:
            std::snprintf(text.data(), text.size(),
                          R"({"order":{"id":"%s"},"customer":"customer-%05d","total":%d.%02d,)"
                          R"("placed_at":"2026-01-31T12:%02d:%02dZ","items":[%d,%d]})",
                          id.c_str(), account, amount, key.bytes[4] % 100, key.bytes[5] % 60,
                          key.bytes[6] % 60, key.bytes[7], key.bytes[8]);
            break;
    }
    return text.data();
}

}  // namespace

std::string name_of(Topic topic) {
    switch (topic) {
        case Topic::payments: return "payments";
        case Topic::orders: return "orders";
    }
    return "";
}

Workload::Workload(std::uint64_t seed, std::int64_t messages)
    : random_(seed), messages_(messages), repeats_left_(messages / 4) {
    produced_.reserve(static_cast<std::size_t>(messages - repeats_left_));
}

std::size_t Workload::pick_earlier() {
    const std::size_t count = produced_.size();
    const bool recent = (random_() & 1) != 0;
    const std::size_t reach = recent ? std::min(count, recent_keys) : count;
    return count - 1 - random_() % reach;
}

DemoMessage Workload::next() {
    assert(taken_ < messages_);
    const auto left = static_cast<std::uint64_t>(messages_ - taken_);
    ++taken_;
    DemoMessage message;
    // Each message is a repeat with the chance that makes the number of repeats come out exactly.
    const bool repeat =
        !produced_.empty() && random_() % left < static_cast<std::uint64_t>(repeats_left_);
    if (repeat) {
        --repeats_left_;
        ProducedKey& earlier = produced_[pick_earlier()];
        ++earlier.messages;
        message.topic = earlier.topic;
        message.key = earlier.key;
    } else {
        message.topic = topics[random_() % topics.size()];
        message.key = uuid_of(random_);
        produced_.push_back({message.topic, message.key, 1});
    }
    message.partition = Partition{static_cast<std::int32_t>(random_() % partitions_per_topic)};
    message.json = payload_of(message.topic, message.key);
    return message;
}

}  // namespace onceward::demo
