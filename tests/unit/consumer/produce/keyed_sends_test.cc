// An operation's message keeps its one key however often it is sent.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <regex>
#include <set>

#include "consumer/produce/keyed_producer.h"
#include "dedup/message/digest.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr KeyedSends::Clock::time_point start{1000s};
constexpr int timed_out = -192;  // librdkafka's
constexpr int message_too_large = 10;

OutgoingRecord record(std::string_view payload, std::span<const Header> headers = {}) {
    OutgoingRecord made;
    made.topic = "topic";
    made.payload = payload;
    made.headers = headers;
    made.tag = 77;
    return made;
}

Delivery delivery(std::uint64_t number, int code = 0) {
    Delivery made;
    made.tag = number;
    made.code = code;
    if (code != 0) made.error = "no";
    return made;
}

std::string key_of(const OutgoingRecord& record) {
    EXPECT_EQ(record.headers.back().name, "Idempotency-Key");
    return std::string(record.headers.back().value.value());
}

TEST(MintedKeys, AreRandomUuidsOfVersion4) {
    const std::regex uuid("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
    std::set<std::string> keys;
    for (int i = 0; i < 100; ++i) {
        const std::string key = new_uuid();
        EXPECT_TRUE(std::regex_match(key, uuid)) << key;
        EXPECT_TRUE(keys.insert(key).second);
    }
}

TEST(KeyedSends, TheRecordIsCopiedWithItsKeyInPlaceOfAnyOther) {
    KeyedSends sends({});
    std::uint64_t number = 0;
    {
        const std::string payload = "a payload that is gone before it is sent";
        const std::array<Header, 2> headers{Header{"Idempotency-Key", "old"},
                                            Header{"trace", std::nullopt}};
        number = sends.add(record(payload, headers), "key");
    }
    const OutgoingRecord& sent = sends.record(number);
    EXPECT_EQ(sent.payload, "a payload that is gone before it is sent");
    ASSERT_EQ(sent.headers.size(), 2U);
    EXPECT_EQ(sent.headers[0].name, "trace");
    EXPECT_EQ(sent.headers[0].value, std::nullopt);
    EXPECT_EQ(key_of(sent), "key");
    EXPECT_THROW(sends.add(record("x"), ""), std::invalid_argument);
}

TEST(KeyedSends, WhatIsDeliveredIsToldWithItsOwnTag) {
    KeyedSends sends({});
    const std::uint64_t number = sends.add(record("x"), "key");
    const auto fate = sends.ended(delivery(number), start);
    ASSERT_TRUE(fate);
    EXPECT_EQ(fate->key, "key");
    EXPECT_EQ(fate->sends, 1);
    EXPECT_EQ(fate->delivery.tag, 77U);
    EXPECT_TRUE(sends.empty());
}

TEST(KeyedSends, AFailedDeliveryIsSentAgainUnderTheSameKeyAfterAPauseThatDoubles) {
    KeyedSends sends({.resends = 2, .pause = 1s});
    const std::uint64_t number = sends.add(record("x"), "key");
    EXPECT_FALSE(sends.ended(delivery(number, timed_out), start));
    EXPECT_THAT(sends.due(start + 999ms), IsEmpty());
    EXPECT_EQ(sends.next_due(), start + 1s);
    EXPECT_THAT(sends.due(start + 1s), ElementsAre(number));
    EXPECT_THAT(sends.due(start + 1s), IsEmpty()) << "it is under way";
    EXPECT_EQ(key_of(sends.record(number)), "key");
    EXPECT_FALSE(sends.ended(delivery(number, timed_out), start));
    EXPECT_EQ(sends.next_due(), start + 2s);
    EXPECT_THAT(sends.due(start + 2s), ElementsAre(number));
    const auto fate = sends.ended(delivery(number, timed_out), start);
    ASSERT_TRUE(fate) << "it is given up";
    EXPECT_EQ(fate->sends, 3);
    EXPECT_EQ(fate->delivery.error, "no");
    EXPECT_EQ(sends.resent(), 2);
}

TEST(KeyedSends, WhatNoRetryCouldMendIsToldAtOnce) {
    KeyedSends sends({});
    const std::uint64_t number = sends.add(record("x"), "key");
    EXPECT_TRUE(sends.ended(delivery(number, message_too_large), start));
    EXPECT_TRUE(sends.empty());
}

}  // namespace
}  // namespace onceward
