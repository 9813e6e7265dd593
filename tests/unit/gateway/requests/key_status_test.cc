#include <gtest/gtest.h>

#include "gateway/requests/answers.h"
#include "gateway/to_upstream/upstream_rules.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using State = KeyStatus::State;

TEST(KeyStatus, IsToldWithoutAnythingOfTheInside) {
    const auto body = [](const KeyStatus& status) { return status_response(status).body; };
    EXPECT_EQ(body({.state = State::in_flight}), R"({"state":"in-flight"})");
    EXPECT_EQ(body({.state = State::in_flight, .retry_after = 42s}),
              R"({"state":"in-flight","retry_after":42})");
    EXPECT_EQ(body({.state = State::completed, .status = 402}),
              R"({"state":"completed","status":402})");
    EXPECT_EQ(body({.state = State::outcome_unknown}), R"({"state":"outcome-unknown"})");
    EXPECT_EQ(status_response(KeyStatus{}).status, 404);
    EXPECT_EQ(status_response(Problem{.kind = ProblemKind::answer_gone}).status, 410);
}

TEST(KeyStatus, ALeaseIsInFlightUntilItsEndAndThenNobodyKnows) {
    const KeyStatus held = status_of_lease({.in_flight = true, .left = 1001ms});
    EXPECT_EQ(held.state, State::in_flight);
    EXPECT_EQ(held.retry_after, 2s);
    EXPECT_EQ(status_of_lease({.in_flight = true}).state, State::outcome_unknown);
    const KeyStatus ended = status_of_lease({.left = 5s, .status = 201});
    EXPECT_EQ(ended.state, State::completed);
    EXPECT_EQ(ended.status, 201);
    EXPECT_EQ(ended.retry_after, std::nullopt);
}

TEST(KeyStatus, WhatThisProcessIsAtIsInFlightThoughNothingIsWrittenDown) {
    const auto told = [](const StatusOutcome& known) {
        return std::get<KeyStatus>(while_running(known));
    };
    EXPECT_EQ(told(KeyStatus{}).state, State::in_flight);
    EXPECT_EQ(told(KeyStatus{.state = State::outcome_unknown}).state, State::in_flight);
    EXPECT_EQ(told(Problem{.kind = ProblemKind::unavailable}).state, State::in_flight);
    EXPECT_EQ(told(KeyStatus{.state = State::in_flight, .retry_after = 9s}).retry_after, 9s);
    EXPECT_EQ(told(KeyStatus{.state = State::completed, .status = 201}).status, 201);
}

}  // namespace
}  // namespace onceward
