#include "gateway/http/problem.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace onceward {
namespace {

// Clients compare these. One that changes is a change of the interface.
TEST(Problem, EachKindHasATypeAndAStatusThatNeverChange) {
    std::string all;
    for (const ProblemKind kind : all_problems()) {
        all += std::to_string(status_of(kind)) + " " + type_of(kind) + "\n";
    }
    EXPECT_EQ(all,
              "400 /onceward/problems/malformed-request\n"
              "400 /onceward/problems/key-missing\n"
              "400 /onceward/problems/key-malformed\n"
              "400 /onceward/problems/key-not-expected\n"
              "400 /onceward/problems/tenant-missing\n"
              "401 /onceward/problems/token-missing\n"
              "401 /onceward/problems/token-refused\n"
              "401 /onceward/problems/signature-refused\n"
              "404 /onceward/problems/not-found\n"
              "404 /onceward/problems/key-unknown\n"
              "405 /onceward/problems/method-not-allowed\n"
              "408 /onceward/problems/request-timeout\n"
              "409 /onceward/problems/key-in-flight\n"
              "409 /onceward/problems/outcome-unknown\n"
              "410 /onceward/problems/answer-gone\n"
              "412 /onceward/problems/key-expired\n"
              "413 /onceward/problems/body-too-large\n"
              "422 /onceward/problems/key-reused\n"
              "422 /onceward/problems/rejected\n"
              "429 /onceward/problems/too-many-requests\n"
              "431 /onceward/problems/headers-too-large\n"
              "500 /onceward/problems/internal\n"
              "501 /onceward/problems/coding-unknown\n"
              "502 /onceward/problems/upstream-unreachable\n"
              "503 /onceward/problems/unavailable\n"
              "504 /onceward/problems/upstream-unanswered\n"
              "505 /onceward/problems/version-unknown\n");
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
    EXPECT_EQ(body.at("type"), "/onceward/problems/key-in-flight");
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

std::optional<HttpResponse> page_at(const std::string& target, const std::string& method = "GET") {
    return problem_page({.method = method, .target = target, .headers = {}, .body = {}});
}

// The type of a problem leads to a page that explains it.
TEST(Problem, EachTypeHasAPageAndEachPageAType) {
    std::string listed, headings;
    for (const ProblemKind kind : all_problems()) {
        const auto page = page_at(type_of(kind));
        ASSERT_TRUE(page) << type_of(kind);
        EXPECT_EQ(page->status, 200);
        const std::string name = type_of(kind).substr(problem_path.size());
        const std::string head =
            std::to_string(status_of(kind)) + ": " + std::string(title_of(kind)) + ".\n";
        EXPECT_TRUE(page->body.starts_with("## " + name + "\n\n" + head)) << page->body;
        EXPECT_EQ(page->body.find("\n## "), std::string::npos) << "another page's text";
        listed += name + "\n";
    }
    const auto all = page_at(std::string(problem_path));
    ASSERT_TRUE(all);
    std::istringstream lines(all->body);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("## ")) headings += line.substr(3) + "\n";
    }
    EXPECT_EQ(headings, listed);
    for (const char* target : {"/onceward/problems/none", "/onceward/problems"}) {
        EXPECT_FALSE(page_at(target)) << target;
    }
    EXPECT_FALSE(page_at(type_of(ProblemKind::internal), "POST"));
}

}  // namespace
}  // namespace onceward
