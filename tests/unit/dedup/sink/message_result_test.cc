// What is kept of a result, and what is remembered of it.

#include "dedup/sink/message_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dedup/results/result_replay.h"
#include "dedup/results/result_store.h"
#include "dedup/sink/http_header_rules.h"
#include "tests/unit/dedup/messages.h"

namespace onceward::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const std::vector<std::string> everything{
    "content-type", "Location", "x-own",   "set-cookie",       "Connection",        "keep-alive",
    "te",           "upgrade",  "trailer", "www-authenticate", "transfer-encoding", "x-hop"};

TEST(ResultHeaders, OnlyThoseOfTheListAreKeptInLowerCase) {
    const ResultHeaders headers{
        {"Content-Type", "text/plain"}, {"X-Other", "1"}, {"LOCATION", "/a"}, {"X-Own", "2"}};
    EXPECT_THAT(kept_headers(headers, everything),
                ElementsAre(Pair("content-type", "text/plain"), Pair("location", "/a"),
                            Pair("x-own", "2")));
    EXPECT_THAT(kept_headers(headers, {}), IsEmpty());
}

TEST(ResultHeaders, CookiesCredentialsAndThoseOfOneHopAreNeverKept) {
    const ResultHeaders headers{{"Set-Cookie", "a=b"},       {"Connection", "close"},
                                {"Keep-Alive", "timeout=5"}, {"TE", "trailers"},
                                {"Upgrade", "h2c"},          {"Trailer", "x"},
                                {"WWW-Authenticate", "x"},   {"Transfer-Encoding", "chunked"}};
    EXPECT_THAT(kept_headers(headers, everything), IsEmpty());
    for (const auto& [name, value] : headers) EXPECT_TRUE(is_never_stored(name)) << name;
    EXPECT_FALSE(is_never_stored("content-type"));
}

TEST(ResultHeaders, WhatAConnectionHeaderNamesBelongsToTheHop) {
    const ResultHeaders headers{{"X-Hop", "1"}, {"X-Own", "2"}, {"Connection", "close,  x-HOP"}};
    EXPECT_THAT(kept_headers(headers, everything), ElementsAre(Pair("x-own", "2")));
}

TEST(ResultHeaders, NoHeaderCanBeginAnother) {
    const ResultHeaders headers{{"x-own", "1\r\nset-cookie: a=b"},
                                {"x-own", std::string("1\0", 2)},
                                {"x-own", "tab\tand \xC3\xA4"}};
    EXPECT_THAT(kept_headers(headers, everything), ElementsAre(Pair("x-own", "tab\tand \xC3\xA4")));
    EXPECT_THAT(kept_headers({{"x own", "1"}}, std::vector<std::string>{"x own"}), IsEmpty());
}

TEST(ResultHeaders, TheDefaultListHoldsNothingThatIsNeverKept) {
    for (const std::string& name : ResultLimits::default_headers()) {
        EXPECT_FALSE(is_never_stored(name)) << name;
    }
}

TEST(ResultHeaders, GoIntoTheirColumnAndBack) {
    const ResultHeaders headers{{"content-type", "a\"b"}, {"link", "1"}, {"link", "2"}};
    EXPECT_EQ(headers_from_json(headers_json(headers)), headers);
    EXPECT_THAT(headers_from_json(R"({"etag": "x", "age": 5})"),
                ElementsAre(Pair("age", "5"), Pair("etag", "x")));
    EXPECT_THAT(headers_from_json("{}"), IsEmpty());
    EXPECT_THROW(headers_from_json("5"), std::runtime_error);
    EXPECT_THROW(headers_from_json(R"([{"name": "a"}])"), std::runtime_error);
    EXPECT_EQ(headers_json({{"x", "\xFF"}}), "[{\"name\":\"x\",\"value\":\"\xEF\xBF\xBD\"}]");
}

MessageResult result(std::string body) {
    return {.status = 201, .headers = {{"content-type", "text/plain"}}, .body = std::move(body)};
}

TEST(ResultLimit, WhatFitsIsKeptAsItIs) {
    ResultLimits limits;
    limits.max_bytes = 32;
    EXPECT_EQ(storable(result("0123456789"), limits), result("0123456789"));
}

TEST(ResultLimit, ABodyThatIsTooLargeIsDroppedWithAMark) {
    ResultLimits limits;
    limits.max_bytes = 31;
    const auto kept = storable(result("0123456789"), limits);
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->status, 201);
    EXPECT_EQ(kept->body, "");
    EXPECT_THAT(kept->headers, ElementsAre(Pair(std::string(dropped_header), "10")));
}

TEST(ResultLimit, OrTheResultIsRejected) {
    ResultLimits limits;
    limits.max_bytes = 31;
    limits.on_too_large = ResultLimits::TooLarge::reject;
    EXPECT_FALSE(storable(result("0123456789"), limits));
    EXPECT_TRUE(storable(result("012345678"), limits));
}

TEST(ResultReply, CarriesTheResultTheCorrelationAndThatItIsReplayed) {
    Message request = message(2, 41, digest(7));
    request.record.key = "account";
    request.record.headers = {{"correlation-id", "c-1"}, {"other", "x"}, {"traceparent", {}}};
    ReplyOptions options;
    options.topic = "replies";
    const BatchContext context{"group", "topic"};
    const Reply first = reply_to(request, result("done"), false, options, context);
    EXPECT_EQ(first.topic, "replies");
    EXPECT_EQ(first.key, "account");
    EXPECT_EQ(first.body, "done");
    EXPECT_THAT(first.headers,
                ElementsAre(Pair("content-type", "text/plain"), Pair("correlation-id", "c-1"),
                            Pair("onceward-status", "201")));
    MessageResult failed;
    failed.kind = MessageResult::Kind::failed;
    const Reply again = reply_to(request, failed, true, options, context);
    EXPECT_THAT(again.headers,
                ElementsAre(Pair("correlation-id", "c-1"), Pair("onceward-failed", "true"),
                            Pair("onceward-replayed", "true")));
    EXPECT_EQ(again.id, first.id) << "of the same message";
    request.record.offset = Offset{42};
    request.tenant = "acme";
    EXPECT_NE(reply_to(request, failed, true, options, context).id, first.id);
    EXPECT_EQ(reply_to(request, failed, true, options, context).tenant, "acme");
}

TEST(ResultReply, AnOverlongKeyOrHeaderOfTheRequestIsLeftOut) {
    const std::string key(70'000, 'k'), header(5'000, 'h');
    Message request = message(0, 0, digest(1));
    request.record.key = key;
    request.record.headers = {{"correlation-id", header}};
    ReplyOptions options;
    const Reply reply = reply_to(request, {}, false, options, {});
    EXPECT_EQ(reply.key, std::nullopt);
    EXPECT_EQ(reply.tenant, std::nullopt);
    EXPECT_THAT(reply.headers, IsEmpty());
}

TEST(ResultCache, TheLeastUsedOneGoesFirst) {
    ResultCache empty(0);
    empty.put(digest(1), {1, result("a")});
    EXPECT_EQ(empty.find(digest(1)), nullptr);

    ResultCache probe(1 << 20);
    probe.put(digest(1), {1, result("a")});
    ResultCache cache(2 * probe.bytes());
    cache.put(digest(1), {1, result("a")});
    cache.put(digest(2), {1, result("b")});
    ASSERT_NE(cache.find(digest(1)), nullptr);
    cache.put(digest(3), {2, result("c")});
    EXPECT_EQ(cache.find(digest(2)), nullptr);
    ASSERT_NE(cache.find(digest(1)), nullptr);
    ASSERT_NE(cache.find(digest(3)), nullptr);
    EXPECT_EQ(cache.find(digest(3))->generation, 2);
    EXPECT_EQ(cache.find(digest(3))->result, result("c"));
}

TEST(ResultCache, StaysWithinItsBytesAndForgetsAll) {
    ResultCache cache(10'000);
    for (int i = 0; i < 200; ++i) {
        cache.put(digest(static_cast<std::uint8_t>(i)), {1, result(std::string(100, 'x'))});
        EXPECT_LE(cache.bytes(), 10'000U);
    }
    EXPECT_GT(cache.size(), 5U);
    const std::size_t before = cache.size();
    cache.put(digest(199), {3, result("y")});
    EXPECT_EQ(cache.size(), before) << "put twice";
    cache.put(digest(1), {1, result(std::string(20'000, 'x'))});
    EXPECT_EQ(cache.find(digest(1)), nullptr) << "larger than all of it";
    cache.clear();
    EXPECT_EQ(cache.bytes(), 0U);
    EXPECT_EQ(cache.find(digest(199)), nullptr);
}

}  // namespace
}  // namespace onceward::test
