#include <gtest/gtest.h>

#include "dedup/leases/lease_state.h"
#include "dedup/sink/effects.h"
#include "tests/unit/dedup/messages.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using test::span;

// Messages at these offsets of a span.
FinishedPrefix prefix_of(Span whole, std::initializer_list<std::int64_t> offsets) {
    FinishedPrefix prefix(whole);
    for (const std::int64_t offset : offsets) prefix.add(Offset{offset}, LeaderEpoch{7});
    return prefix;
}

TEST(FinishedPrefix, StaysInFrontOfTheLowestOpenMessage) {
    FinishedPrefix prefix = prefix_of(span(0, 10, 14), {10, 11, 12, 13});
    prefix.finish(Offset{11}, MessageEnd::applied);
    prefix.finish(Offset{13}, MessageEnd::applied);
    EXPECT_EQ(prefix.due(), std::nullopt) << "it would jump over one in flight";
    EXPECT_EQ(prefix.first_open(), Offset{10});
    prefix.finish(Offset{10}, MessageEnd::applied);
    const FenceMove move = prefix.due().value();
    EXPECT_EQ(move.span, (Span{Partition{0}, Offset{10}, Offset{12}, LeaderEpoch{7}}));
    EXPECT_EQ(move.totals, (Totals{.applied = 2}));
    EXPECT_EQ(prefix.passed(), (std::vector{Offset{10}, Offset{11}}));
}

TEST(FinishedPrefix, GoesOnFromWhereItWasMovedTo) {
    FinishedPrefix prefix = prefix_of(span(0, 0, 9), {0, 3, 5});
    prefix.finish(Offset{0}, MessageEnd::duplicate);
    prefix.moved(prefix.due().value());
    EXPECT_EQ(prefix.left(), (Span{Partition{0}, Offset{1}, Offset{9}}));
    EXPECT_EQ(prefix.due(), std::nullopt);
    prefix.finish(Offset{5}, MessageEnd::conflict);
    EXPECT_EQ(prefix.due(), std::nullopt);
    prefix.finish(Offset{3}, MessageEnd::dead_lettered);
    const FenceMove move = prefix.due().value();
    EXPECT_EQ(move.span.begin, Offset{1});
    EXPECT_EQ(move.span.end, Offset{9}) << "the span's tail is passed with its last message";
    EXPECT_EQ(move.totals, (Totals{.conflicts = 1, .dead_lettered = 1}));
    prefix.moved(move);
    EXPECT_TRUE(prefix.done());
}

TEST(FinishedPrefix, ASpanWithoutMessagesIsPassedAtOnce) {
    FinishedPrefix prefix(span(3, 5, 8));
    EXPECT_FALSE(prefix.done());
    EXPECT_EQ(prefix.due().value().span, span(3, 5, 8));
    prefix.moved(prefix.due().value());
    EXPECT_TRUE(prefix.done());
    EXPECT_EQ(prefix.due(), std::nullopt);
}

TEST(FinishedPrefix, WhatIsOpenAgainHoldsItBackAgain) {
    FinishedPrefix prefix = prefix_of(span(0, 0, 2), {0, 1});
    prefix.finish(Offset{0}, MessageEnd::applied);
    prefix.finish(Offset{1}, MessageEnd::skipped);
    EXPECT_EQ(prefix.due().value().totals, (Totals{.applied = 1, .skipped = 1}));
    prefix.reopen(Offset{0});
    EXPECT_EQ(prefix.due(), std::nullopt);
}

TEST(FinishedPrefix, RefusesWhatIsNotInIt) {
    FinishedPrefix prefix = prefix_of(span(0, 0, 9), {4});
    EXPECT_THROW(prefix.add(Offset{4}, LeaderEpoch{}), std::logic_error);
    EXPECT_THROW(prefix.finish(Offset{5}, MessageEnd::applied), std::logic_error);
}

TEST(EffectRetries, DoubleTheirDelayAndEnd) {
    const EffectRetries retries{.attempts = 3, .backoff = 500ms};
    EXPECT_EQ(next_try(retries, 0, std::nullopt, 60s), 500ms);
    EXPECT_EQ(next_try(retries, 1, std::nullopt, 60s), 1s);
    EXPECT_EQ(next_try(retries, 2, std::nullopt, 60s), 2s);
    EXPECT_EQ(next_try(retries, 3, std::nullopt, 60s), std::nullopt);
}

TEST(EffectRetries, WaitAsLongAsTheOtherSideAsksWithinTheLease) {
    const EffectRetries retries{.attempts = 3, .backoff = 500ms};
    EXPECT_EQ(next_try(retries, 0, 100ms, 60s), 500ms) << "never sooner than by themselves";
    EXPECT_EQ(next_try(retries, 0, 7s, 60s), 7s);
    EXPECT_EQ(next_try(retries, 0, 60s, 60s), std::nullopt) << "a lease is not held for that long";
    EXPECT_EQ(next_try({.attempts = 100, .backoff = 500ms}, 99, std::nullopt, 60s), std::nullopt);
}

}  // namespace
}  // namespace onceward
