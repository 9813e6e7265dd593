// What the outbox's rows are made of, and what a message must be to make one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dedup/base/trace_context.h"
#include "dedup/sink/packed_headers.h"
#include "sinks/outbox/outbox_sink.h"
#include "tests/conformance/test_messages.h"
#include "tests/support/postgres.h"

namespace onceward::support {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using From = FieldSource::Kind;

class OutboxRows : public testing::Test {
  protected:
    OutboxRows() : connection_(schema_.worker()) { options_.topic = "published"; }

    // As the config has it: key, payload or fields, headers.
    Message& add(const std::vector<Value>& fields, std::uint8_t digest = 1) {
        Message& message = messages_.add(fields);
        message.digest.bytes[0] = digest;
        return message;
    }
    std::string rejection() {
        const OutboxSink sink(options_);
        Message& last = messages_[count_of_messages() - 1];
        const auto rejected = sink.encode(last, messages_.arena());
        return rejected ? rejected->reason : "";
    }
    std::size_t count_of_messages() { return messages_.all().size(); }
    void write(OutboxPlace place = OutboxPlace::sink, const std::string& group = "group") {
        OutboxSink sink(options_, place);
        ASSERT_EQ(messages_.encode(sink), 0);
        OwnedTransaction transaction(connection_);
        sink.write(transaction, {group, "topic"}, messages_.all());
        transaction.commit();
    }
    // `column` of each row, in order; NULL is "null".
    std::vector<std::string> rows(const std::string& column) {
        std::vector<std::string> all;
        for (const Row& row :
             schema_.database().execute("SELECT " + column + " FROM outbox ORDER BY position")) {
            all.push_back(row[0].value_or("null"));
        }
        return all;
    }
    std::vector<std::string> payloads() { return rows("convert_from(payload, 'UTF8')"); }

    FreshSchema schema_;
    Connection connection_;
    OutboxOptions options_;
    TestMessages messages_;
};

TEST_F(OutboxRows, KeyAndPayloadGoAsTheyAre) {
    add({text("customer-7"), text("plain \xE2\x82\xAC")});
    add({bytes("\xff"), bytes(std::string_view("\0\xfe", 2))});
    add({null_value(), json("{\"a\": [1, 2]}")});
    add({Value{}, number("1.50")});
    write();
    EXPECT_THAT(rows("record_key"),
                ElementsAre("\\x637573746f6d65722d37", "\\xff", "null", "null"));
    EXPECT_THAT(rows("order_key = record_key"), ElementsAre("t", "t", "null", "null"));
    EXPECT_THAT(rows("payload"), ElementsAre("\\x706c61696e20e282ac", "\\x00fe",
                                             "\\x7b2261223a205b312c20325d7d", "\\x312e3530"));
    EXPECT_THAT(rows("consumer_group || topic"), ElementsAre("grouppublished", "grouppublished",
                                                             "grouppublished", "grouppublished"));
}

TEST_F(OutboxRows, FieldsBecomeAJsonObject) {
    options_.fields = {{"id", {From::field, "/id"}, true},
                       {"na\"me", {From::field, "/name"}},
                       {"at", {From::metadata, "timestamp"}},
                       {"more", {From::field, "/more"}}};
    add({text("k"), number("12345678901234567890"), text("a\"b\n"), null_value(), json("[{}]")});
    add({text("k"), integer(1), Value{}, Value{}, Value{}});
    write();
    EXPECT_THAT(
        payloads(),
        ElementsAre("{\"id\":12345678901234567890,\"na\\\"me\":\"a\\\"b\\u000a\",\"at\":null,"
                    "\"more\":[{}]}",
                    "{\"id\":1}"));
}

// A decoder and a conversion check all of a document, and convert none of its numbers.
TEST_F(OutboxRows, ADocumentKeepsEachDigitOfItsNumbers) {
    const std::string large =
        R"({"wei":123456789012345678901234567890,"far":1e999,"near":-1E-999})";
    add({text("k"), json(large)});
    write();
    options_.fields = {{"order", {From::field, "/order"}}};
    write();
    EXPECT_THAT(payloads(), ElementsAre(large, "{\"order\":" + large + "}"));
    options_.fields[0].conversion.steps = {{.kind = Conversion::Kind::json}};
    add({text("k"), text(large)});
    EXPECT_EQ(rejection(), "");
    add({text("k"), text(R"({"wei":123456789012345678901234567890,"more":nul})")});
    EXPECT_THAT(rejection(), HasSubstr("order: the value is not JSON"));
}

TEST_F(OutboxRows, HeadersAreThoseThatAreNamed) {
    options_.headers = {{"traceparent", {From::header, "traceparent"}},
                        {"kind", {From::constant, "order"}},
                        {"none", {From::header, "none"}}};
    add({text("k"), text("p"), text("00-ab"), text("order"), null_value()});
    add({text("k"), text("p"), Value{}, text("order"), Value{}});
    write();
    const auto hex = [](const std::vector<Header>& headers) {
        std::string text = "\\x";
        constexpr std::string_view digits = "0123456789abcdef";
        for (const char c : header_bytes(headers)) {
            text += digits[static_cast<unsigned char>(c) >> 4];
            text += digits[static_cast<unsigned char>(c) & 15];
        }
        return text;
    };
    EXPECT_THAT(rows("headers"),
                ElementsAre(hex({{"traceparent", "00-ab"}, {"kind", "order"}, {"none", {}}}),
                            hex({{"kind", "order"}})));
}

// The message's own span first, else what its record came with; nothing that cannot be passed on.
TEST_F(OutboxRows, WithTracesARecordContinuesItsMessages) {
    const std::string came = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const TraceContext own{random_trace_id(), random_span_id(), true};
    options_.traces = true;
    options_.headers = {{"traceparent", {From::constant, "named"}},
                        {"kind", {From::constant, "order"}}};
    // Exactly what the record has without its trace: whether there is one decides nothing.
    const std::string kind = header_bytes(std::vector<Header>{{"kind", "order"}});
    options_.record_max = 2 + kind.size();
    const auto add_one = [&]() -> Message& {
        return add({text("k"), text("p"), text("named"), text("order")});
    };
    add_one().record.headers = {{"traceparent", came}, {"tracestate", "a=b"}};
    Message& recorded = add_one();
    recorded.record.headers = {{"traceparent", came}, {"tracestate", "a=b"}};
    recorded.trace = &own;
    add_one().trace = &own;
    add_one().record.headers = {{"traceparent", "00-ab"}, {"tracestate", "a=b"}};
    write();
    const auto found = rows("encode(headers, 'escape')");
    ASSERT_EQ(found.size(), 4U);
    EXPECT_THAT(found[0], HasSubstr(came));
    EXPECT_THAT(found[0], HasSubstr("a=b"));
    EXPECT_THAT(found[1], HasSubstr(to_traceparent(own)));
    EXPECT_THAT(found[1], HasSubstr("onceward=00f067aa0ba902b7,a=b")) << "and where it came from";
    EXPECT_THAT(found[1], Not(HasSubstr(came)));
    EXPECT_THAT(found[2], HasSubstr(to_traceparent(own)));
    EXPECT_THAT(found[3], Not(HasSubstr("trace")));
    for (const std::string& one : found) {
        EXPECT_THAT(one, HasSubstr("order"));
        EXPECT_THAT(one, Not(HasSubstr("named"))) << "one traceparent is enough";
    }
}

TEST_F(OutboxRows, AnIdIsMadeOfTheKeyTheTopicAndThePlace) {
    add({text("k"), text("first try")}, 1);
    add({text("k"), text("another key")}, 2);
    write();
    write();  // as after a fail-over that lost the transaction
    const std::vector<std::string> ids = rows("id");
    ASSERT_EQ(ids.size(), 4U);
    EXPECT_EQ(ids[0], ids[2]);
    EXPECT_EQ(ids[1], ids[3]);
    EXPECT_NE(ids[0], ids[1]);
    write(OutboxPlace::also_publish);
    EXPECT_NE(rows("id")[4], ids[0]);
    options_.topic = "another";
    write();
    EXPECT_NE(rows("id")[6], ids[0]);
}

TEST_F(OutboxRows, AMessageThatRemovesBecomesATombstone) {
    messages_.remove({text("k"), null_value()});
    write();
    EXPECT_THAT(rows("payload"), ElementsAre("null"));
    EXPECT_THAT(rows("record_key"), ElementsAre("\\x6b"));
    messages_.remove({null_value(), null_value()});
    EXPECT_THAT(rejection(), HasSubstr("tombstone"));
}

TEST_F(OutboxRows, WhatMakesNoRecordIsRejected) {
    add({text("k"), null_value()});
    EXPECT_THAT(rejection(), HasSubstr("payload: the value is missing"));
    options_.record_max = 10;
    add({text("key"), text("12345678")});
    EXPECT_THAT(rejection(), HasSubstr("11 bytes, above `record_max`"));
    add({text("key"), text("1234567")});
    EXPECT_EQ(rejection(), "");
    options_.record_max = 1000;
    options_.fields = {{"id", {From::field, "/id"}, true}};
    add({text("k"), Value{}});
    EXPECT_THAT(rejection(), HasSubstr("id: the value is missing"));
    add({text("k"), bytes("\xff")});
    EXPECT_THAT(rejection(), HasSubstr("raw bytes"));
    options_.fields.clear();
    options_.headers = {{"h", {From::header, "h"}, true}};
    add({text("k"), text("p"), Value{}});
    EXPECT_THAT(rejection(), HasSubstr("header h: the value is missing"));
}

TEST_F(OutboxRows, RepliesAreRowsUnderTheirOwnIds) {
    Reply reply;
    reply.topic = "replies";
    reply.key = "customer-7";
    reply.headers = {{"correlation-id", "c"}, {"onceward-replayed", "true"}};
    reply.body = std::string("\0done", 5);
    reply.id.bytes[15] = 9;
    reply.tenant = "acme";
    OutboxReplies replies("group");
    {
        OwnedTransaction rolled_back(connection_);
        replies.write(rolled_back, std::span(&reply, 1));
    }
    EXPECT_TRUE(rows("id").empty());
    OwnedTransaction transaction(connection_);
    replies.write(transaction, std::span(&reply, 1));
    transaction.commit();
    EXPECT_THAT(rows("id"), ElementsAre("00000000-0000-0000-0000-000000000009"));
    EXPECT_THAT(rows("topic || ' ' || convert_from(order_key, 'UTF8')"),
                ElementsAre("replies customer-7"));
    EXPECT_THAT(rows("payload"), ElementsAre("\\x00646f6e65"));
    EXPECT_THAT(rows("length(headers)"), ElementsAre("52"));
    EXPECT_THAT(rows("convert_from(tenant, 'UTF8')"), ElementsAre("acme"));
}

}  // namespace
}  // namespace onceward::support
