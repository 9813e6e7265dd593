#include "gateway/requests/bulk_request.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace onceward {
namespace {

BulkReading read_items(const std::string& json, KeyUse use = KeyUse::required) {
    return read_bulk(json, {.use = use, .length_max = 10}, 3);
}

TEST(Bulk, EachItemHasItsKeyAndItsBodyAsItWasWritten) {
    const BulkReading reading =
        read_items(R"( [ {"key":"a","body":{"n": 12345678901234567890.10 , "s":"\u00e9"}} ,
                  {"body" : [1,2] , "key":"b\u0041"}, {"key":"c","body":null}] )");
    ASSERT_EQ(reading.fault, "");
    ASSERT_EQ(reading.items.size(), 3U);
    EXPECT_EQ(reading.items[0].key, "a");
    EXPECT_EQ(reading.items[0].body, R"({"n": 12345678901234567890.10 , "s":"\u00e9"})");
    EXPECT_EQ(reading.items[1].key, "bA");
    EXPECT_EQ(reading.items[1].body, "[1,2]");
    EXPECT_EQ(reading.items[2].body, "null");
}

TEST(Bulk, AnItemsKeyFollowsTheRulesOfTheRoute) {
    const auto fault = [](const std::string& key, KeyUse use = KeyUse::required) {
        return read_items("[{" + key + "\"body\":1}]", use).items.at(0).fault;
    };
    EXPECT_EQ(fault(""), KeyFault::missing);
    EXPECT_EQ(fault("", KeyUse::optional), std::nullopt);
    EXPECT_EQ(fault(R"("key":"",)"), KeyFault::too_short);
    EXPECT_EQ(fault(R"("key":"12345678901",)"), KeyFault::too_long);
    EXPECT_EQ(fault(R"("key":"a\u0000",)"), KeyFault::malformed);
}

TEST(Bulk, WhatIsNoArrayOfItemsIsRefusedAsAWhole) {
    for (const char* json :
         {"", "{", "{}", "1", "[]", "[1",
          R"([{"key":"a","body":1}] x)", R"([{"key":"a","body":1},{"key":"b","body":}])",
          R"([{"body":1},{"body":1},{"body":1},{"body":1}])"}) {
        EXPECT_NE(read_items(json).fault, "") << json;
    }
}

TEST(Bulk, AnItemThatIsNoneIsRefusedInItsPlaceAndTheOthersAreTaken) {
    for (const char* item :
         {"1", "{}", R"({"key":"b"})", R"({"key":5,"body":2})", R"({"key":null,"body":2})",
          R"({"key":"b","body":1,"other":{"a":[1]}})", R"({"key":"b","key":"c","body":1})",
          R"({"key":"b","body":1,"body":2})", "[[1]]", "null"}) {
        const BulkReading reading = read_items("[{\"key\":\"a\",\"body\":{}}," + std::string(item) +
                                         R"(,{"key":"z","body":[3]}])");
        EXPECT_EQ(reading.fault, "") << item;
        ASSERT_EQ(reading.items.size(), 3U) << item;
        EXPECT_EQ(reading.items[0].key, "a");
        EXPECT_NE(reading.items[1].malformed, "") << item;
        EXPECT_EQ(reading.items[2].key, "z");
        EXPECT_EQ(reading.items[2].body, "[3]");
        EXPECT_EQ(reading.items[2].malformed, "");
    }
}

TEST(Bulk, TheAnswersComeInTheItemsOrder) {
    BulkResponse bulk({"a", "b", ""});
    bulk.put(2, {.status = 400});
    bulk.put(0, {.status = 201,
                 .headers = {{"Content-Type", "application/json"}},
                 .body = R"({"n":1.10})"});
    bulk.put(1, {.status = 200, .body = "text \"x\"", .replayed = true});
    const HttpResponse response = bulk.made();
    EXPECT_EQ(response.status, 207);
    EXPECT_EQ(response.body,
              R"([{"key":"a","status":201,"type":"application/json","body":{"n":1.10}},)"
              R"({"key":"b","status":200,"replayed":true,"body":"text \"x\""},)"
              R"({"status":400}])");
    EXPECT_TRUE(nlohmann::json::accept(response.body));
}

TEST(Bulk, ABodyThatDoesNotFitIntoTheAnswerIsLeftOutWhichItsItemSays) {
    BulkResponse bulk({"a", "b", "c", "d"}, 10);
    bulk.put(0, {.status = 201, .body = R"([1,2])"});
    bulk.put(1, {.status = 201, .body = R"([1,23])", .replayed = true});
    bulk.put(2, {.status = 201, .body = R"([1,2])"});
    bulk.put(3, {.status = 201, .body = "1"});
    EXPECT_EQ(bulk.made().body,
              R"([{"key":"a","status":201,"body":[1,2]},)"
              R"({"key":"b","status":201,"replayed":true,"body_left_out":true},)"
              R"({"key":"c","status":201,"body":[1,2]},)"
              R"({"key":"d","status":201,"body_left_out":true}])");
}

// An escape takes up to six bytes.
TEST(Bulk, ABodyCountsWithTheBytesThatItTakesInTheAnswer) {
    BulkResponse bulk({"a", "b"}, 10);
    bulk.put(0, {.status = 200, .body = "1"});
    bulk.put(1, {.status = 200, .body = "\x01\x01"});
    EXPECT_EQ(bulk.made().body,
              R"([{"key":"a","status":200,"body":1},)"
              R"({"key":"b","status":200,"body_left_out":true}])");
}

// Else a client that sends the item alone would not get it either.
TEST(Bulk, TheFirstBodyIsInTheAnswerHoweverLargeItIs) {
    BulkResponse bulk({"a", "b"}, 10);
    bulk.put(0, {.status = 200, .body = "12345678901"});
    bulk.put(1, {.status = 200, .body = "1"});
    EXPECT_EQ(bulk.made().body,
              R"([{"key":"a","status":200,"body":12345678901},)"
              R"({"key":"b","status":200,"body_left_out":true}])");
}

}  // namespace
}  // namespace onceward
