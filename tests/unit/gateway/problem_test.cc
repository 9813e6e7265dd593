#include "gateway/problem.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

namespace onceward {
namespace {

// Clients compare these. One that changes is a change of the interface.
TEST(Problem, EachKindHasATypeAndAStatusThatNeverChange) {
    std::string all;
    for (const ProblemKind kind : all_problems()) {
        all += std::to_string(status_of(kind)) + " " + type_of(kind) + "\n";
    }
    EXPECT_EQ(all,
              "400 urn:onceward:problem:malformed-request\n"
              "400 urn:onceward:problem:key-missing\n"
              "400 urn:onceward:problem:key-malformed\n"
              "400 urn:onceward:problem:key-not-expected\n"
              "400 urn:onceward:problem:tenant-missing\n"
              "401 urn:onceward:problem:token-missing\n"
              "401 urn:onceward:problem:token-refused\n"
              "401 urn:onceward:problem:signature-refused\n"
              "404 urn:onceward:problem:not-found\n"
              "404 urn:onceward:problem:key-unknown\n"
              "405 urn:onceward:problem:method-not-allowed\n"
              "408 urn:onceward:problem:request-timeout\n"
              "409 urn:onceward:problem:key-in-flight\n"
              "409 urn:onceward:problem:outcome-unknown\n"
              "410 urn:onceward:problem:answer-gone\n"
              "413 urn:onceward:problem:body-too-large\n"
              "422 urn:onceward:problem:key-reused\n"
              "422 urn:onceward:problem:rejected\n"
              "429 urn:onceward:problem:too-many-requests\n"
              "431 urn:onceward:problem:headers-too-large\n"
              "500 urn:onceward:problem:internal\n"
              "501 urn:onceward:problem:coding-unknown\n"
              "502 urn:onceward:problem:upstream-unreachable\n"
              "503 urn:onceward:problem:unavailable\n"
              "504 urn:onceward:problem:upstream-unanswered\n"
              "505 urn:onceward:problem:version-unknown\n");
}

TEST(Problem, IsProblemJsonThatNoCacheKeeps) {
    const HttpResponse response = to_response({.kind = ProblemKind::key_in_flight,
                                               .detail = "A \"quoted\" one.",
                                               .retry_after = std::chrono::seconds(3),
                                               .headers = {{"X-Own", "1"}}});
    EXPECT_EQ(response.status, 409);
    EXPECT_EQ(only_value(response.headers, "content-type"), "application/problem+json");
    EXPECT_EQ(only_value(response.headers, "cache-control"), "no-store");
    EXPECT_EQ(only_value(response.headers, "retry-after"), "3");
    EXPECT_EQ(only_value(response.headers, "x-own"), "1");
    const auto body = nlohmann::json::parse(response.body);
    EXPECT_EQ(body.at("type"), "urn:onceward:problem:key-in-flight");
    EXPECT_EQ(body.at("status"), 409);
    EXPECT_EQ(body.at("detail"), "A \"quoted\" one.");
    EXPECT_EQ(body.size(), 4U);
}

TEST(Problem, SaysNothingThatIsNotThere) {
    const HttpResponse response = to_response({.kind = ProblemKind::internal});
    EXPECT_TRUE(values_of(response.headers, "Retry-After").empty());
    EXPECT_FALSE(nlohmann::json::parse(response.body).contains("detail"));
}

TEST(Problem, WhatIsNoUtf8InTheDetailIsReplaced) {
    const HttpResponse response =
        to_response({.kind = ProblemKind::key_malformed, .detail = "\xFF\xFE"});
    EXPECT_TRUE(nlohmann::json::accept(response.body));
}

}  // namespace
}  // namespace onceward
