#include "gateway/requests/answers.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/draft_cases.h"

namespace onceward {
namespace {

const OwnHeaders header;

KeyedAnswer carried_out(KeyState state) {
    return {.state = state,
            .result = {.status = 201,
                       .headers = {{"Content-Type", "text/plain"}, {"Location", "/orders/1"}},
                       .body = "made"}};
}

TEST(ResultReplay, AFreshOneIsTheOperationsOwn) {
    const HttpResponse response = answer_of(carried_out(KeyState::fresh), header);
    EXPECT_EQ(response.status, 201);
    EXPECT_EQ(response.body, "made");
    EXPECT_EQ(only_value(response.headers, "Location"), "/orders/1");
    EXPECT_TRUE(values_of(response.headers, "Idempotent-Replayed").empty());
}

TEST(ResultReplay, AReplayedOneIsTheSameAndSaysSo) {
    const HttpResponse first = answer_of(carried_out(KeyState::fresh), header);
    HttpResponse again = answer_of(carried_out(KeyState::replayed), header);
    EXPECT_EQ(only_value(again.headers, "Idempotent-Replayed"), "true");
    std::erase_if(again.headers,
                  [](const auto& one) { return one.first == "Idempotent-Replayed"; });
    EXPECT_EQ(again.status, first.status);
    EXPECT_EQ(again.headers, first.headers);
    EXPECT_EQ(again.body, first.body);
}

TEST(ResultReplay, TheReplayHeadersNameMayBeAnotherAndNoStoredAnswerBringsIt) {
    const OwnHeaders named{.replay = "X-Replayed"};
    KeyedAnswer first = carried_out(KeyState::fresh);
    first.result.headers.emplace_back("x-replayed", "true");
    EXPECT_TRUE(values_of(answer_of(first, named).headers, "X-Replayed").empty());
    KeyedAnswer again = carried_out(KeyState::replayed);
    again.result.headers.emplace_back("x-replayed", "false");
    again.result.headers.emplace_back("Idempotent-Replayed", "true");
    const HttpResponse response = answer_of(again, named);
    EXPECT_EQ(only_value(response.headers, "X-Replayed"), "true");
    EXPECT_TRUE(values_of(response.headers, "Idempotent-Replayed").empty());
    EXPECT_TRUE(response.replayed);
}

TEST(ResultReplay, OneInFlightAndAConflictAreProblems) {
    const HttpResponse waits =
        answer_of({.state = KeyState::in_flight, .retry_after = std::chrono::seconds(2)}, header);
    EXPECT_EQ(waits.status, 409);
    EXPECT_EQ(only_value(waits.headers, "Retry-After"), "2");
    const HttpResponse conflict = answer_of({.state = KeyState::conflict}, header);
    EXPECT_EQ(conflict.status, 422);
    EXPECT_EQ(nlohmann::json::parse(conflict.body).at("type"), "/onceward/problems/key-reused");
}

TEST(ResultReplay, CookiesHeadersOfOneHopAndWhatWouldBreakTheHeadAreLeftOut) {
    KeyedAnswer answer = carried_out(KeyState::replayed);
    for (const char* name : {"Set-Cookie", "set-cookie", "Connection", "Transfer-Encoding", "TE",
                             "Upgrade", "Keep-Alive", "Content-Length", "Idempotent-Replayed",
                             "Idempotency-Key", "A B", "A:", ""}) {
        answer.result.headers.emplace_back(name, "x");
    }
    answer.result.headers.emplace_back("X-Split", "a\r\nSet-Cookie: b");
    const HttpResponse response = answer_of(std::move(answer), header);
    const HttpHeaders wanted{
        {"Content-Type", "text/plain"}, {"Location", "/orders/1"}, {"Idempotent-Replayed", "true"}};
    EXPECT_EQ(response.headers, wanted);
}

TEST(DraftCases, EachExpectsWhatTheAnswersSay) {
    for (const support::DraftCase& one : support::draft_cases) {
        SCOPED_TRACE(one.name);
        EXPECT_EQ(one.problem_type.empty(), one.status == 0);
        EXPECT_FALSE(one.executed && one.before != support::DraftCase::Before::nothing);
        if (one.status == 0) continue;
        bool known = false;
        for (const ProblemKind kind : all_problems()) {
            known = known || (type_of(kind) == one.problem_type && status_of(kind) == one.status);
        }
        EXPECT_TRUE(known);
    }
}

}  // namespace
}  // namespace onceward
