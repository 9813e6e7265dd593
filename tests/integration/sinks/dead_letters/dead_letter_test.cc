// What a dead letter keeps of its message, and that hostile messages cannot stop their topic by it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinks/dead_letters/dead_letter_sink.h"
#include "tests/conformance/test_messages.h"
#include "tests/support/postgres.h"

namespace onceward::support {
namespace {

class DeadLetters : public testing::Test {
  protected:
    void SetUp() override {
        database().execute(
            "INSERT INTO fences (consumer_group, topic, partition, incarnation, owner, "
            "first_offset, "
            "next_offset, topic_id) VALUES "
            "('g', 't', 0, '00000000-0000-0000-0000-000000000001', gen_random_uuid(), 0, 0, ''), "
            "('g', 't', 1, '00000000-0000-0000-0000-000000000002', gen_random_uuid(), 0, 0, "
            "'topic-id')");
    }
    Message& reject(Rejection rejection) {
        Message& message = messages_.add({});
        message.rejection = std::move(rejection);
        return message;
    }
    void write() {
        OwnedTransaction transaction(connection_);
        sink_.write(transaction, {"g", "t"}, messages_.all());
        transaction.commit();
    }
    Row only(const std::string& columns) {
        const Rows rows = database().execute("SELECT " + columns + " FROM dead_letters");
        EXPECT_EQ(rows.size(), 1u);
        return rows.empty() ? Row(20) : rows[0];
    }
    Database& database() { return schema_.database(); }

    FreshSchema schema_;
    Connection connection_{schema_.worker()};
    DeadLetterSink sink_;
    TestMessages messages_;
};

TEST_F(DeadLetters, KeepTheMessageWhole) {
    Message& message = reject(
        {.kind = Rejection::Kind::sink, .reason = "p\u00e4r", .sqlstate = "23514", .attempts = 3});
    message.record.offset = Offset{41};
    message.record.timestamp = std::chrono::milliseconds{1714979289123};
    message.record.key = std::string_view("\0k\xff", 3);
    message.record.payload = "payload";
    message.record.headers = {
        {"a", "1"}, {"a", std::nullopt}, {"b \"", std::string_view("\0\xff", 2)}};
    message.key_text = std::string_view("K\0", 2);
    message.digest.bytes.fill(0xAB);
    write();
    database().execute("SET TimeZone = 'UTC'");
    EXPECT_THAT(
        only("identity, partition, record_offset, record_timestamp, record_key, headers, payload, "
             "key_text, digest, error_class, sqlstate, reason, attempts"),
        testing::ElementsAre("00000000-0000-0000-0000-000000000001", "0", "41",
                             "2024-05-06 07:08:09.123+00", "\\x006bff",
                             R"([{"name": "a", "value": "MQ=="}, {"name": "a", "value": null}, )"
                             R"({"name": "b \"", "value": "AP8="}])",
                             "\\x7061796c6f6164", "\\x4b00", "abababab-abab-abab-abab-abababababab",
                             "sink", "23514", "p\u00e4r", "3"));
}

TEST_F(DeadLetters, ATombstoneWithoutAKeyKeepsItsNulls) {
    Message& message =
        reject({.kind = Rejection::Kind::missing_key, .reason = "none", .sqlstate = ""});
    message.record.partition = Partition{1};
    write();
    EXPECT_THAT(only("identity, record_timestamp, record_key, headers, payload, key_text, digest"),
                testing::ElementsAre("topic-id", std::nullopt, std::nullopt, "[]", std::nullopt,
                                     std::nullopt, std::nullopt));
}

TEST_F(DeadLetters, HostileTextsTimesAndHeadersAreKept) {
    Message& message = reject({.reason = std::string("bad \xff and \0 NUL", 15), .sqlstate = ""});
    message.record.timestamp = std::chrono::milliseconds{std::numeric_limits<std::int64_t>::max()};
    message.record.headers = {{std::string_view("n\0", 2), "v"}, {"\xff", std::nullopt}, {"", ""}};
    write();
    EXPECT_THAT(
        only("reason, record_timestamp, headers"),
        testing::ElementsAre(
            "bad ? and ? NUL (record timestamp 9223372036854775807 ms is beyond any calendar)",
            std::nullopt,
            R"([{"value": "dg==", "name_base64": "bgA="}, {"value": null, "name_base64": "/w=="}, )"
            R"({"name": "", "value": ""}])"));
}

TEST_F(DeadLetters, TheSameMessageAgainChangesNothing) {
    reject({.reason = "first", .sqlstate = ""});
    write();
    messages_[0].rejection->reason = "second";
    write();
    EXPECT_THAT(only("reason"), testing::ElementsAre("first"));
}

TEST_F(DeadLetters, AnotherLogOfTheSameNameHasItsOwn) {
    reject({.reason = "first", .sqlstate = ""});
    write();
    database().execute("UPDATE fences SET incarnation = gen_random_uuid()");
    write();
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 2);
}

TEST_F(DeadLetters, WithoutAFenceNothingIsSilentlyLost) {
    reject({.reason = "lost", .sqlstate = ""}).record.partition = Partition{7};
    EXPECT_THROW(write(), PostgresError);
}

}  // namespace
}  // namespace onceward::support
