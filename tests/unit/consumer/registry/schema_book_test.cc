#include "consumer/registry/schema_book.h"

#include <gtest/gtest.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;
using Kind = RegistryAnswer::Kind;
using State = SchemaAnswer::State;

constexpr double no_chance = 0.5;

Resolution found(const std::string& text) {
    return {Kind::found, std::make_shared<WrittenSchema>(
                             WrittenSchema{SchemaLanguage::avro, text, {}})};
}

class SchemaBookTest : public testing::Test {
  protected:
    static SchemaId id(int number) { return {number, ""}; }
    State state(int number) { return book.find(id(number), now).state; }
    // Asks for it, and lets its fetch end so.
    void fetch(int number, const Resolution& result) {
        book.find(id(number), now);
        while (const auto next = book.begin_fetch(now)) {
            if (*next == id(number)) break;
        }
        book.fetched(id(number), result, now, no_chance);
    }

    SchemaBook::Clock::time_point now{1000s};
    SchemaBook book{"main", {.schemas = 3, .bytes = 100'000, .unknown_for = 60s}};
};

TEST_F(SchemaBookTest, WhatIsNotKnownIsFetchedOnceAndThenKnown) {
    EXPECT_EQ(state(17), State::pending);
    EXPECT_EQ(state(17), State::pending);
    EXPECT_EQ(book.begin_fetch(now), id(17));
    EXPECT_EQ(book.begin_fetch(now), std::nullopt);
    book.fetched(id(17), found("text"), now, no_chance);
    const SchemaAnswer answer = book.find(id(17), now);
    ASSERT_EQ(answer.state, State::known);
    EXPECT_EQ(answer.schema->text, "text");
    EXPECT_EQ(book.begin_fetch(now), std::nullopt);
    EXPECT_EQ(book.fetches().found, 1);
}

TEST_F(SchemaBookTest, AnUnknownIdIsRememberedForATimeAndThenAskedForAgain) {
    fetch(17, {.kind = Kind::unknown, .reason = "has no such schema"});
    EXPECT_EQ(book.find(id(17), now).reason, "registry `main` has no such schema");
    now += 59s;
    EXPECT_EQ(state(17), State::unknown);
    EXPECT_EQ(book.begin_fetch(now), std::nullopt);
    now += 1s;
    EXPECT_EQ(state(17), State::pending);
    EXPECT_EQ(book.begin_fetch(now), id(17));
    book.fetched(id(17), found("text"), now, no_chance);
    EXPECT_EQ(state(17), State::known);
}

TEST_F(SchemaBookTest, ARefusedSchemaIsAskedForAgainToo) {
    fetch(17, {.kind = Kind::refused, .reason = "has it in a circle"});
    EXPECT_EQ(state(17), State::refused);
    now += 60s;
    EXPECT_EQ(state(17), State::pending);
}

TEST_F(SchemaBookTest, TroubleIsTriedAgainAfterDoubledPausesAndSaysWhy) {
    fetch(17, {.reason = "answers 503"});
    for (const auto pause : {250ms, 500ms, 1000ms, 2000ms, 4000ms, 8000ms, 10000ms, 10000ms}) {
        EXPECT_EQ(book.find(id(17), now).reason, "registry `main` answers 503");
        EXPECT_EQ(book.next_due(), now + pause);
        now += pause - 1ms;
        EXPECT_EQ(book.begin_fetch(now), std::nullopt);
        now += 1ms;
        ASSERT_EQ(book.begin_fetch(now), id(17));
        EXPECT_EQ(book.next_due(), std::nullopt) << "it is under way";
        book.fetched(id(17), {.reason = "answers 503"}, now, no_chance);
    }
    EXPECT_EQ(book.trouble(), "registry `main` answers 503");
    EXPECT_EQ(book.fetches().failed, 9);
}

TEST_F(SchemaBookTest, OneAnswerEndsTheWaitOfAll) {
    for (int number = 1; number <= 3; ++number) {
        for (int again = 0; again < 6; ++again) fetch(number, {.reason = "answers 503"});
    }
    fetch(9, found("text"));
    EXPECT_EQ(book.trouble(), "");
    for (int number = 1; number <= 3; ++number) EXPECT_EQ(book.begin_fetch(now), id(number));
}

TEST_F(SchemaBookTest, NothingIsFetchedBeforeTheTimeThatTheRegistryAskedFor) {
    fetch(17, {.reason = "answers 429", .retry_after = 30s});
    book.find(id(18), now);
    EXPECT_EQ(book.next_due(), now + 30s);
    now += 29s;
    book.find(id(17), now);
    book.find(id(18), now);
    EXPECT_EQ(book.begin_fetch(now), std::nullopt);
    now += 1s;
    EXPECT_TRUE(book.begin_fetch(now).has_value());
}

// As of a leader that is busy, while a follower has all but the newest schema.
TEST_F(SchemaBookTest, WhileAnotherAddressAnswersTheTimeHoldsForTheOneSchemaAlone) {
    fetch(17, {.reason = "answers 429", .retry_after = 30s, .another_answers = true});
    book.find(id(18), now);
    ASSERT_EQ(book.begin_fetch(now), id(18));
    book.fetched(id(18), found("text"), now, no_chance);
    EXPECT_EQ(state(18), State::known);
    EXPECT_EQ(book.next_due(), now + 30s) << "an answer about another schema does not end it";
    now += 29s;
    book.find(id(17), now);
    EXPECT_EQ(book.begin_fetch(now), std::nullopt);
    now += 1s;
    EXPECT_EQ(book.begin_fetch(now), id(17));
}

TEST_F(SchemaBookTest, WhatNobodyAsksForAnyMoreIsNotFetched) {
    fetch(17, {.reason = "answers 503"});
    now += 61s;
    EXPECT_EQ(book.begin_fetch(now), std::nullopt);
    EXPECT_EQ(book.next_due(), std::nullopt);
}

TEST_F(SchemaBookTest, TheLeastRecentlyUsedOnesAreForgotten) {
    for (int number = 1; number <= 3; ++number) fetch(number, found("text"));
    EXPECT_EQ(state(1), State::known);  // used: 2 is the oldest now
    fetch(4, found("text"));
    EXPECT_EQ(book.schemas(), 3U);
    EXPECT_EQ(state(1), State::known);
    EXPECT_EQ(state(2), State::pending);
}

TEST_F(SchemaBookTest, BytesAreBoundedToo) {
    fetch(1, found(std::string(40'000, 'a')));
    fetch(2, found(std::string(40'000, 'b')));
    EXPECT_EQ(book.schemas(), 2U);
    fetch(3, found(std::string(40'000, 'c')));
    EXPECT_EQ(book.schemas(), 2U);
    EXPECT_LE(book.bytes(), 100'000U);
    EXPECT_EQ(state(1), State::pending);
    // One that is larger than the bound is still there for the message that waits for it.
    fetch(5, found(std::string(200'000, 'd')));
    EXPECT_EQ(state(5), State::known);
    EXPECT_EQ(book.schemas(), 1U);
}

TEST_F(SchemaBookTest, NumbersAndGuidsAreDifferentIds) {
    fetch(0, found("by number"));
    EXPECT_EQ(book.find({0, "89791762-2336-186f-9674-299b90a8e2df"}, now).state, State::pending);
}

}  // namespace
}  // namespace onceward
