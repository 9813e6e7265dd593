// What a function is given, what its rows mean, and which functions do not fit.

#include "sinks/function/function_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/test_messages.h"
#include "tests/support/postgres.h"

namespace onceward::support {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class FunctionSinkTest : public testing::Test {
  protected:
    // f(messages jsonb[]) that returns `returns` and does `body`, with these words after it.
    void create(const std::string& returns, const std::string& body,
                const std::string& words = "LANGUAGE sql") {
        schema_.database().execute("CREATE OR REPLACE FUNCTION f(messages jsonb[]) RETURNS " +
                                   returns + " " + words + " AS $$ " + body + " $$");
        options_.function = schema_.name() + ".f";
    }
    std::string mismatch() {
        try {
            FunctionSink sink(options_);
            sink.prepare(connection_);
            return "";
        } catch (const SinkMismatch& error) {
            return error.what();
        }
    }
    std::vector<MessageResult> write(TestMessages& messages) {
        FunctionSink sink(options_);
        sink.prepare(connection_);
        EXPECT_EQ(messages.encode(sink), 0);
        OwnedTransaction transaction(connection_);
        sink.write(transaction, {"group", "topic"}, messages.all());
        transaction.commit();
        std::vector<MessageResult> results = sink.take_results();
        EXPECT_TRUE(sink.take_results().empty()) << "they are taken once";
        return results;
    }
    std::string refusal(TestMessages& messages) {
        try {
            write(messages);
            return "";
        } catch (const SinkMismatch& error) {
            return error.what();
        }
    }
    // Messages of one field, /id.
    void add(TestMessages& messages, const std::vector<int>& numbers) {
        options_.columns = {{"id", {FieldSource::Kind::field, "/id"}}};
        for (const int number : numbers) messages.add({integer(number)});
    }

    FreshSchema schema_;
    Connection connection_{schema_.worker()};
    FunctionSinkOptions options_;
};

TEST_F(FunctionSinkTest, EachMessageIsAnObjectOfItsMappedValues) {
    create("SETOF jsonb", "SELECT unnest(messages)");
    using Kind = FieldSource::Kind;
    options_.columns = {
        {"amount", {Kind::field, "/amount"}}, {"it\"s", {Kind::field, "/name"}},
        {"items", {Kind::field, "/items"}},   {"nothing", {Kind::field, "/nothing"}},
        {"absent", {Kind::field, "/absent"}}, {"header", {Kind::header, "h"}},
        {"whole", {Kind::payload, ""}},       {"at", {Kind::metadata, "timestamp"}}};
    TestMessages messages;
    messages.add({number("0.10000000000000000001"), text("a \"b\""), json("[1, {\"x\": null}]"),
                  null_value(), Value{}, text("true"), text("{\"all\": 1}"), timestamp(0)});
    const std::vector<MessageResult> results = write(messages);
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].body, R"({"at": "1970-01-01T00:00:00.000000Z", "it\"s": "a \"b\"", )"
                               R"("items": [1, {"x": null}], "whole": {"all": 1}, )"
                               R"("amount": 0.10000000000000000001, "header": "true", )"
                               R"("nothing": null})");
}

TEST_F(FunctionSinkTest, AMissingValueThatIsRequiredIsARejection) {
    create("SETOF jsonb", "SELECT unnest(messages)");
    options_.columns = {{"id", {FieldSource::Kind::field, "/id"}, true}};
    TestMessages messages;
    messages.add({Value{}});
    FunctionSink sink(options_);
    EXPECT_EQ(messages.encode(sink), 1);
    EXPECT_THAT(messages[0].rejection->reason, HasSubstr("member `id`"));
    TestMessages removal;
    removal.remove({integer(1)});
    EXPECT_EQ(removal.encode(sink), 1) << "nobody told the function";
}

TEST_F(FunctionSinkTest, ARowIsTheBodyButForWhatSaysWhatItIs) {
    create("TABLE (id integer, result_status integer, result_failed boolean, result_headers jsonb)",
           "SELECT (m ->> 'id')::integer, 200 + (m ->> 'id')::integer, m ->> 'id' = '2', "
           "'{\"etag\": \"x\"}'::jsonb FROM unnest(messages) AS m");
    TestMessages messages;
    add(messages, {1, 2});
    const std::vector<MessageResult> results = write(messages);
    ASSERT_EQ(results.size(), 2U);
    EXPECT_EQ(results[0].body, R"({"id": 1})");
    EXPECT_EQ(results[0].status, 201);
    EXPECT_EQ(results[0].kind, MessageResult::Kind::done);
    EXPECT_THAT(results[0].headers,
                ElementsAre(Pair("etag", "x"), Pair("content-type", "application/json")));
    EXPECT_EQ(results[1].kind, MessageResult::Kind::failed);
    EXPECT_EQ(results[1].status, 202);
}

TEST_F(FunctionSinkTest, WhateverAColumnIsCalledTheRowIsRead) {
    create("TABLE (result text, answer text, message bigint, result_failed boolean)",
           "SELECT 'declined', 'no', 7, true FROM unnest(messages)");
    TestMessages messages;
    add(messages, {1});
    const std::vector<MessageResult> results = write(messages);
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].kind, MessageResult::Kind::failed);
    EXPECT_EQ(results[0].body, R"({"answer": "no", "result": "declined", "message": 7})");
}

TEST_F(FunctionSinkTest, OrTheBodyIsAColumnOfItsOwnOrTheOnlyOne) {
    create("TABLE (id integer, result_body text)", "SELECT 1, 'plain' FROM unnest(messages)");
    TestMessages one;
    add(one, {1});
    EXPECT_EQ(write(one)[0].body, "plain");
    schema_.database().execute("DROP FUNCTION f(jsonb[])");
    create("SETOF text", "SELECT 'said' FROM unnest(messages)");
    EXPECT_EQ(write(one)[0].body, "said");
    schema_.database().execute("DROP FUNCTION f(jsonb[])");
    create("TABLE (result_status integer)", "SELECT 204 FROM unnest(messages)");
    EXPECT_EQ(write(one)[0].body, "");
    EXPECT_EQ(write(one)[0].status, 204);
}

// The media type of each body that a function has, '' where it has none.
TEST_F(FunctionSinkTest, ABodyThatIsJsonSaysSoUnlessTheFunctionNamesAType) {
    const auto type_of = [&](const std::string& returns, const std::string& row) {
        schema_.database().execute("DROP FUNCTION IF EXISTS f(jsonb[])");
        create(returns, "SELECT " + row + " FROM unnest(messages)");
        TestMessages messages;
        add(messages, {1});
        const MessageResult result = write(messages).at(0);
        return result.headers.empty() ? "" : result.headers.at(0).second;
    };
    EXPECT_EQ(type_of("SETOF jsonb", "'[1]'::jsonb"), "application/json");
    EXPECT_EQ(type_of("SETOF jsonb", "'\"a\"'::jsonb"), "");
    EXPECT_EQ(type_of("SETOF jsonb", "NULL::jsonb"), "");
    EXPECT_EQ(type_of("SETOF text", "'[1]'"), "") << "what a text is only the function knows";
    EXPECT_EQ(type_of("TABLE (result_body jsonb)", "'{}'::jsonb"), "application/json");
    EXPECT_EQ(type_of("TABLE (result_body text)", "'{}'"), "");
    EXPECT_EQ(type_of("TABLE (result_status integer)", "204"), "") << "there is no body";
    EXPECT_EQ(type_of("TABLE (id integer, result_headers jsonb)",
                      "1, '{\"Content-Type\": \"application/hal+json\"}'::jsonb"),
              "application/hal+json");
}

// As a data error it would send every message to the dead letters.
TEST_F(FunctionSinkTest, AStatusOrAFlagThatIsNoneIsTheFunctionsFault) {
    create("TABLE (result_status text)", "SELECT 'fine' FROM unnest(messages)");
    TestMessages messages;
    add(messages, {1});
    EXPECT_THAT(refusal(messages), HasSubstr("result_status"));
    schema_.database().execute("DROP FUNCTION f(jsonb[])");
    create("TABLE (result_failed text)", "SELECT 'perhaps' FROM unnest(messages)");
    EXPECT_THAT(refusal(messages), HasSubstr("result_failed"));
}

TEST_F(FunctionSinkTest, RowsThatNumberThemselvesMayComeInAnyOrder) {
    create("TABLE (ordinality bigint, id integer)",
           "SELECT n, (m ->> 'id')::integer FROM unnest(messages) WITH ORDINALITY AS t (m, n) "
           "ORDER BY n DESC");
    TestMessages messages;
    add(messages, {7, 8, 9});
    const std::vector<MessageResult> results = write(messages);
    ASSERT_EQ(results.size(), 3U);
    EXPECT_EQ(results[0].body, R"({"id": 7})");
    EXPECT_EQ(results[2].body, R"({"id": 9})");
}

// Without a number of its own a row may come in any order; whose it is nobody could tell.
TEST_F(FunctionSinkTest, RowsWithoutANumberAreStillThoseOfTheirMessages) {
    create("TABLE (id integer)",
           "SELECT (m ->> 'id')::integer FROM unnest(messages) AS m ORDER BY 1 DESC");
    TestMessages messages;
    add(messages, {7, 8, 9});
    const std::vector<MessageResult> results = write(messages);
    ASSERT_EQ(results.size(), 3U);
    EXPECT_EQ(results[0].body, R"({"id": 7})");
    EXPECT_EQ(results[1].body, R"({"id": 8})");
    EXPECT_EQ(results[2].body, R"({"id": 9})");
}

TEST_F(FunctionSinkTest, WhereNobodyWantsTheRowsAllMessagesAreOneCall) {
    schema_.user_table("calls", "messages integer");
    create("TABLE (id integer)",
           "INSERT INTO " + schema_.name() +
               ".calls VALUES (cardinality(messages)); SELECT 1 FROM unnest(messages)");
    options_.answers = false;
    TestMessages messages;
    add(messages, {7, 8, 9});
    EXPECT_EQ(write(messages).size(), 3U);
    EXPECT_EQ(schema_.database().value("SELECT string_agg(messages::text, ',') FROM calls"), "3");
}

// Committed and stored, each of these would be an answer that nobody can give.
TEST_F(FunctionSinkTest, AnAnswerThatHttpCannotGiveIsRefused) {
    create("TABLE (result_status integer, result_body text)",
           "SELECT (m ->> 'id')::integer, 'body' FROM unnest(messages) AS m");
    for (const int status : {99, 100, 199, 600, 999, -1, 205}) {
        TestMessages messages;
        add(messages, {status});
        EXPECT_THAT(refusal(messages), HasSubstr("result_status")) << status;
    }
    for (const int status : {0, 200, 404, 599}) {
        TestMessages messages;
        add(messages, {status});
        EXPECT_EQ(refusal(messages), "") << status;
    }
    schema_.database().execute("DROP FUNCTION f(jsonb[])");
    create("TABLE (result_headers text)", "SELECT 'etag: x' FROM unnest(messages)");
    TestMessages messages;
    add(messages, {1});
    EXPECT_THAT(refusal(messages), HasSubstr("result_headers"));
}

TEST_F(FunctionSinkTest, AnyOtherNumberOfRowsDoesNotFit) {
    create("SETOF jsonb", "SELECT messages[1] UNION ALL SELECT messages[1]");
    TestMessages messages;
    add(messages, {1, 2});
    EXPECT_THAT(refusal(messages), HasSubstr("returned 2 rows for 1 messages"));
    schema_.database().execute("DROP FUNCTION f(jsonb[])");
    create("TABLE (ordinality bigint)", "SELECT 1::bigint FROM unnest(messages)");
    EXPECT_THAT(refusal(messages), HasSubstr("`ordinality` 1 twice"));
    schema_.database().execute("DROP FUNCTION f(jsonb[])");
    create("TABLE (ordinality bigint)", "SELECT NULL::bigint FROM unnest(messages)");
    EXPECT_THAT(refusal(messages), HasSubstr("`ordinality` 0"));
}

TEST_F(FunctionSinkTest, WhatDoesNotFitIsSaidBeforeAMessageIsTaken) {
    options_.function = schema_.name() + ".f";
    EXPECT_THAT(mismatch(), HasSubstr("there is no function"));
    schema_.database().execute(
        "CREATE FUNCTION f(message jsonb) RETURNS jsonb LANGUAGE sql AS 'SELECT message'");
    EXPECT_THAT(mismatch(), HasSubstr(".f(message jsonb)"));
    create("jsonb", "SELECT messages[1]");
    EXPECT_THAT(mismatch(), HasSubstr("does not return a set"));
    const auto again = [&](const std::string& returns, const std::string& words) {
        schema_.database().execute("DROP FUNCTION f(jsonb[])");
        create(returns, "SELECT unnest(messages)", words);
        return mismatch();
    };
    EXPECT_THAT(again("SETOF record", "LANGUAGE sql"), HasSubstr("does not say which columns"));
    EXPECT_THAT(again("SETOF jsonb", "LANGUAGE sql STABLE"), HasSubstr("STABLE or IMMUTABLE"));
    EXPECT_THAT(again("SETOF jsonb", "LANGUAGE sql PARALLEL SAFE"), HasSubstr("PARALLEL UNSAFE"));
    EXPECT_EQ(again("SETOF jsonb", "LANGUAGE sql"), "");
    schema_.database().execute("REVOKE EXECUTE ON FUNCTION f(jsonb[]) FROM PUBLIC");
    EXPECT_THAT(mismatch(), HasSubstr("refuses EXECUTE"));
    schema_.database().execute("DROP FUNCTION f(jsonb[])");
    schema_.database().execute("CREATE PROCEDURE f(messages jsonb[]) LANGUAGE sql AS 'SELECT 1'");
    EXPECT_THAT(mismatch(), HasSubstr("not a plain function"));
}

TEST_F(FunctionSinkTest, AChangeOfTheFunctionIsSeen) {
    create("SETOF jsonb", "SELECT unnest(messages)");
    FunctionSink sink(options_);
    const std::string before = sink.target_state(connection_);
    EXPECT_EQ(sink.target_state(connection_), before);
    create("SETOF jsonb", "SELECT unnest(messages) ORDER BY 1");
    EXPECT_NE(sink.target_state(connection_), before);
}

}  // namespace
}  // namespace onceward::support
