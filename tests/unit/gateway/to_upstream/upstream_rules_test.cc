#include "gateway/to_upstream/upstream_rules.h"

#include <gmock/gmock.h>

namespace onceward {
namespace {

using testing::ElementsAre;
using testing::Pair;

UpstreamAnswer answered(int status) { return {.status = status, .carried = true}; }

std::string problem_of(const KeyedOutcome& outcome) {
    const auto* problem = std::get_if<Problem>(&outcome);
    return problem == nullptr ? "" : type_of(problem->kind).substr(problem_path.size());
}

TEST(UpstreamRules, AnAnswerIsFinalUnlessItsOwnWordsSayThatItPasses) {
    UpstreamTarget plain, honours;
    honours.honours_key = true;
    for (const int status : {200, 201, 204, 301, 304, 400, 402, 404, 409, 422, 499}) {
        EXPECT_EQ(end_of(answered(status), plain), CallEnd::final_answer) << status;
        EXPECT_EQ(end_of(answered(status), honours), CallEnd::final_answer) << status;
    }
    for (const int status : {408, 425, 429, 503}) {
        EXPECT_EQ(end_of(answered(status), plain), CallEnd::turned_down) << status;
        EXPECT_EQ(end_of(answered(status), honours), CallEnd::turned_down) << status;
    }
    EXPECT_EQ(end_of({.status = 0, .carried = false}, plain), CallEnd::never_sent);
    EXPECT_EQ(end_of({.status = 0, .carried = true}, plain), CallEnd::unknown);
}

TEST(UpstreamRules, AFailureThatMayComeAfterAnEffectIsInDoubtUnlessItIsNamed) {
    UpstreamTarget upstream;
    for (const int status : {100, 500, 501, 502, 504, 599}) {
        EXPECT_EQ(end_of(answered(status), upstream), CallEnd::in_doubt) << status;
    }
    EXPECT_EQ(fate_of(CallEnd::in_doubt, upstream), KeyFate::held);
    const KeyedOutcome passed = passed_on(answered(504), upstream, {}, std::chrono::seconds(60));
    EXPECT_EQ(std::get<KeyedAnswer>(passed).result.status, 504);
    upstream.free_on = {423, 502};
    EXPECT_EQ(end_of(answered(502), upstream), CallEnd::turned_down);
    EXPECT_EQ(end_of(answered(423), upstream), CallEnd::turned_down);
    EXPECT_EQ(end_of(answered(503), upstream), CallEnd::in_doubt);
    EXPECT_EQ(end_of(answered(429), upstream), CallEnd::in_doubt);
    // It applies two calls under one key once.
    upstream.honours_key = true;
    for (const int status : {408, 429, 500, 502, 503, 504}) {
        EXPECT_EQ(end_of(answered(status), upstream), CallEnd::turned_down) << status;
    }
}

TEST(UpstreamRules, OnlyAnUpstreamThatKnowsTheKeyIsCalledAgainAfterALostAnswer) {
    using enum UpstreamTarget::OnUnknown;
    UpstreamTarget upstream;
    for (const auto policy : {hold, release}) {
        for (const bool honours : {false, true}) {
            upstream.on_unknown = policy;
            upstream.honours_key = honours;
            EXPECT_EQ(fate_of(CallEnd::final_answer, upstream), KeyFate::stored);
            EXPECT_EQ(fate_of(CallEnd::turned_down, upstream), KeyFate::released);
            EXPECT_EQ(fate_of(CallEnd::never_sent, upstream), KeyFate::released);
            for (const CallEnd end : {CallEnd::in_doubt, CallEnd::unknown}) {
                EXPECT_EQ(fate_of(end, upstream),
                          policy == release && honours ? KeyFate::released : KeyFate::held);
            }
        }
    }
}

TEST(UpstreamRules, AKeyThatIsNotItsOwnIsToldWhatItIs) {
    using std::chrono::milliseconds;
    UpstreamTarget upstream;
    LeaseAnswer answer{.verdict = LeaseVerdict::in_flight, .left = milliseconds(2500)};
    const KeyedOutcome waits = outcome_of(answer, upstream, std::nullopt);
    EXPECT_EQ(std::get<KeyedAnswer>(waits).state, KeyState::in_flight);
    EXPECT_EQ(std::get<KeyedAnswer>(waits).retry_after.count(), 3);
    answer.left = milliseconds(0);
    EXPECT_EQ(problem_of(outcome_of(answer, upstream, std::nullopt)), "outcome-unknown");
    upstream.honours_key = true;
    const KeyedOutcome soon = outcome_of(answer, upstream, std::nullopt);
    EXPECT_EQ(std::get<KeyedAnswer>(soon).state, KeyState::in_flight);
    EXPECT_EQ(std::get<KeyedAnswer>(soon).retry_after.count(), 1);
    answer.verdict = LeaseVerdict::conflict;
    const KeyedOutcome other = outcome_of(answer, upstream, std::nullopt);
    EXPECT_EQ(std::get<KeyedAnswer>(other).state, KeyState::conflict);
    answer.verdict = LeaseVerdict::failed;
    EXPECT_EQ(problem_of(outcome_of(answer, upstream, std::nullopt)), "answer-gone");
    const MessageResult stored{
        .kind = MessageResult::Kind::failed, .status = 402, .headers = {}, .body = "no"};
    const KeyedOutcome replayed = outcome_of(answer, upstream, stored);
    EXPECT_EQ(std::get<KeyedAnswer>(replayed).state, KeyState::replayed);
    EXPECT_EQ(std::get<KeyedAnswer>(replayed).result.status, 402);
}

TEST(UpstreamRules, WhatIsKeptOfAnAnswerIsOnTheList) {
    ResultLimits limits;
    limits.max_bytes = 50;
    UpstreamAnswer answer = answered(201);
    answer.headers = {{"Content-Type", "text/plain"}, {"Set-Cookie", "a=b"}, {"X-Own", "1"}};
    answer.body = "made";
    const MessageResult kept = result_of(answer, limits);
    EXPECT_EQ(kept.status, 201);
    EXPECT_EQ(kept.kind, MessageResult::Kind::done);
    EXPECT_THAT(kept.headers, ElementsAre(Pair("content-type", "text/plain")));
    EXPECT_EQ(kept.body, "made");
    answer.status = 422;
    EXPECT_EQ(result_of(answer, limits).kind, MessageResult::Kind::failed);
    answer.body.clear();
    answer.too_large = true;
    const MessageResult cut = result_of(answer, limits);
    EXPECT_EQ(cut.status, 422);
    EXPECT_THAT(cut.headers, ElementsAre(Pair("onceward-body-dropped", "more than 50")));
}

TEST(UpstreamRules, WhatIsNotFinalIsPassedOnAndSaysWhenToComeAgain) {
    const ResultLimits limits;
    const std::chrono::seconds lease(60);
    UpstreamTarget upstream;
    UpstreamAnswer busy = answered(503);
    busy.headers = {{"Retry-After", "7"}, {"Set-Cookie", "a=b"}};
    busy.body = "busy";
    const KeyedOutcome passed = passed_on(busy, upstream, limits, lease);
    const HttpResponse& response = std::get<KeyedAnswer>(passed).result;
    EXPECT_EQ(response.status, 503);
    EXPECT_EQ(response.body, "busy");
    EXPECT_THAT(response.headers, ElementsAre(Pair("retry-after", "7")));
    EXPECT_EQ(problem_of(passed_on({}, upstream, limits, lease)), "upstream-unreachable");
    const KeyedOutcome held = passed_on({.carried = true}, upstream, limits, lease);
    EXPECT_EQ(problem_of(held), "upstream-unanswered");
    EXPECT_EQ(std::get<Problem>(held).retry_after, lease);
    upstream.honours_key = true;
    upstream.on_unknown = UpstreamTarget::OnUnknown::release;
    const KeyedOutcome released = passed_on({.carried = true}, upstream, limits, lease);
    EXPECT_EQ(std::get<Problem>(released).retry_after, std::chrono::seconds(1));
}

TEST(UpstreamRules, WithoutAKeyNobodyIsToldToComeAgainWithIt) {
    const KeyedOutcome lost = passed_on_without_key({.carried = true}, {});
    EXPECT_EQ(problem_of(lost), "upstream-unanswered");
    EXPECT_EQ(std::get<Problem>(lost).retry_after, std::nullopt);
    EXPECT_EQ(problem_of(passed_on_without_key({}, {})), "upstream-unreachable");
    for (const int status : {201, 402, 503}) {
        const KeyedOutcome passed = passed_on_without_key(answered(status), {});
        EXPECT_EQ(std::get<KeyedAnswer>(passed).result.status, status);
        EXPECT_EQ(std::get<KeyedAnswer>(passed).state, KeyState::fresh);
    }
}

TEST(UpstreamRules, HeadersOfTheHopTheKeyAndCredentialsStayHere) {
    const HttpHeaders headers{{"Host", "door"},
                              {"Content-Type", "application/json"},
                              {"Authorization", "Bearer a"},
                              {"Cookie", "a=b"},
                              {"Connection", "close, X-Hop"},
                              {"X-Hop", "1"},
                              {"Transfer-Encoding", "chunked"},
                              {"X-Forwarded-For", "1.2.3.4"},
                              {"Accept-Encoding", "gzip"},
                              {"X-Key", "k"},
                              {"idempotency-key", "k"},
                              {"traceparent", "00-1-2-01"},
                              {"X-Own", "1"}};
    EXPECT_THAT(forwarded_headers(headers, "X-Key", {}),
                ElementsAre(Pair("Content-Type", "application/json"),
                            Pair("traceparent", "00-1-2-01"), Pair("X-Own", "1")));
    const std::vector<std::string> named{"authorization"};
    EXPECT_THAT(
        forwarded_headers(headers, "X-Key", named),
        ElementsAre(Pair("Content-Type", "application/json"), Pair("Authorization", "Bearer a"),
                    Pair("traceparent", "00-1-2-01"), Pair("X-Own", "1")));
}

// A server that makes variables of headers knows no difference between the two, and takes the last.
TEST(UpstreamRules, NoHeaderGoesOnThatPassesForAnotherOne) {
    const HttpHeaders headers{{"X-Tenant", "mine"},
                              {"X_Tenant", "another's"},
                              {"X_KEY", "k"},
                              {"Idempotency_Key", "k"},
                              {"X_Forwarded_For", "::1"},
                              {"X-Forwarded-User", "root"},
                              {"onceward-tenant", "mine"},
                              {"X-HTTP-Method-Override", "DELETE"},
                              {"X_Own", "1"}};
    EXPECT_THAT(forwarded_headers(headers, "X-Key", {}),
                ElementsAre(Pair("X-Tenant", "mine"), Pair("X_Own", "1")));
}

TEST(UpstreamRules, AProxysWordGoesOnOnlyWhereItIsNamed) {
    const HttpHeaders headers{{"CF-Connecting-IP", "::1"},
                              {"Remote-User", "root"},
                              {"X-Forwarded-For", "::1"},
                              {"X-Own", "1"}};
    EXPECT_THAT(forwarded_headers(headers, "X-Key", {}), ElementsAre(Pair("X-Own", "1")));
    const std::vector<std::string> named{"cf-connecting-ip", "X-Forwarded-For"};
    EXPECT_THAT(forwarded_headers(headers, "X-Key", named),
                ElementsAre(Pair("CF-Connecting-IP", "::1"), Pair("X-Forwarded-For", "::1"),
                            Pair("X-Own", "1")));
}

TEST(UpstreamRules, NoTargetLeavesTheUpstreamsAddress) {
    for (const char* target : {"/orders/1", "/orders/1?a=/../b%2F..", "/a.b/..c", "/", "/a%20b",
                               "/a/", "/a;b=..", "/50%25", "/%c3%a9"}) {
        EXPECT_TRUE(may_be_forwarded(target)) << target;
    }
    for (const char* target : {"/orders/..", "/orders/../admin", "/./a", "/a/%2e%2E/b", "/a/%2e./b",
                               "/a%2F..%2Fb", "/a/..%5cb", "http://other.example/", "@other/", "*",
                               "", "/a#b", "/a%", "/a b", "/a?\r\nX: 1"}) {
        EXPECT_FALSE(may_be_forwarded(target)) << target;
    }
}

// A pattern's `{id}` is one part between slashes here, and must be no more to the upstream.
TEST(UpstreamRules, NoPartOfAPathBecomesSeveralOrNone) {
    for (const char* target :
         {"/orders/..;", "/orders/..;a=b/admin", "/orders/%2e%2e;/admin", "/orders/..%3B",
          "/orders//admin", "//orders/1", "/orders/a%2Fadmin", "/orders/a%2fadmin",
          "/orders/a%5Cadmin", "/orders/a\\admin", "/orders/%252e%252e", "/orders/a%252Fadmin",
          "/orders/%25252e", "/orders/..%20", "/orders/...", "/orders/a%00", "/orders/a%0dX",
          "/orders/%c0%ae%c0%ae", "/orders/%e0%80%ae", "/orders/%ff", "/%c0%ae%c0%ae/admin"}) {
        EXPECT_FALSE(may_be_forwarded(target)) << target;
    }
}

}  // namespace
}  // namespace onceward
