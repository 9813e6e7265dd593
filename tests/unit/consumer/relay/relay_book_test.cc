// What the relay may send, and when: order for each key, and what a failure holds back.

#include "consumer/relay/relay_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>

#include "tests/unit/consumer/relay/outbox_records.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using relay_test::record;
using relay_test::sendable;
using relay_test::sent;
using relay_test::start;

TEST(RelayBook, OfAKeyOneRowIsUnderWayAtATime) {
    RelayBook book({});
    book.add({record(1, "a"), record(2, "b"), record(3, "a"), record(4, "a")});
    EXPECT_THAT(sendable(book), ElementsAre(1, 2));
    book.delivered(2, start);
    EXPECT_THAT(sendable(book), IsEmpty());
    book.delivered(1, start);
    EXPECT_THAT(sendable(book), ElementsAre(3));
    book.delivered(3, start);
    EXPECT_THAT(sendable(book), ElementsAre(4));
    book.delivered(4, start);
    EXPECT_THAT(sent(book), ElementsAre(2, 1, 3, 4));
    EXPECT_TRUE(book.empty());
}

TEST(RelayBook, TheSameKeyInTwoTopicsIsTwoKeys) {
    RelayBook book({});
    book.add({record(1, "a", "one"), record(2, "a", "two")});
    EXPECT_THAT(sendable(book), ElementsAre(1, 2));
}

// The table's key allows it, for example if the positions of a restored database begin again. The
// second row was never sent, and its key was left out for ever.
TEST(RelayBook, RowsOfTwoTopicsAtTheSamePositionAreSentOneAfterTheOther) {
    RelayBook book({});
    book.add({record(1, "a", "one"), record(1, "b", "two"), record(2, "c", "two")});
    EXPECT_THAT(sendable(book), ElementsAre(1, 2));
    EXPECT_EQ(book.under_way(), 2U);
    book.delivered(1, start);
    EXPECT_THAT(sendable(book), ElementsAre(1));
    book.delivered(1, start);
    const std::vector<SentRow> rows = book.take_sent();
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].topic, "one");
    EXPECT_EQ(rows[1].topic, "two");
    EXPECT_THAT(book.left_out(start).keys, ElementsAre("c"));
}

TEST(RelayBook, RowsWithoutAKeyGoAllAtOnce) {
    RelayBook book({});
    book.add({record(1, std::nullopt), record(2, std::nullopt), record(3, "")});
    EXPECT_THAT(sendable(book), ElementsAre(1, 2, 3));
    EXPECT_THAT(book.left_out(start).positions, UnorderedElementsAre(1, 2));
    EXPECT_THAT(book.left_out(start).keys, ElementsAre("")) << "an empty key is a key";
}

TEST(RelayBook, WhatIsSentIsToldWithItsId) {
    RelayBook book({});
    book.add({record(7, "a")});
    sendable(book);
    book.delivered(7, start);
    const std::vector<SentRow> rows = book.take_sent();
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0], (SentRow{"topic", 7, record(7, "a").id}));
    EXPECT_THAT(book.take_sent(), IsEmpty());
}

TEST(RelayBook, AFailureHoldsItsKeyWithTheRowsBehindAndNoOther) {
    for (const SendFailure failure : {SendFailure::passing, SendFailure::record}) {
        RelayBook book({});
        book.add({record(1, "a"), record(2, "a"), record(3, "b"), record(4, "b")});
        EXPECT_THAT(sendable(book), ElementsAre(1, 3));
        const auto held = book.failed(1, failure, start);
        ASSERT_TRUE(held);
        EXPECT_TRUE(held->first);
        EXPECT_EQ(held->pause, 1s);
        book.delivered(3, start);
        EXPECT_THAT(sendable(book), ElementsAre(4)) << "2 would overtake 1";
        EXPECT_THAT(book.left_out(start).keys, UnorderedElementsAre("a", "b"));
        book.delivered(4, start);
        EXPECT_THAT(book.left_out(start).keys, ElementsAre("a"));
        EXPECT_THAT(book.left_out(start + 1s).keys, IsEmpty()) << "it is to be tried again";
        EXPECT_EQ(book.next_try(start), start + 1s);
        EXPECT_EQ(book.held_keys(), 1U);
    }
}

TEST(RelayBook, ARowWithoutAKeyThatFailsHoldsItselfAlone) {
    RelayBook book({});
    book.add({record(1, std::nullopt), record(2, std::nullopt)});
    sendable(book);
    book.failed(1, SendFailure::record, start);
    book.delivered(2, start);
    EXPECT_THAT(book.left_out(start).positions, ElementsAre(1));
    EXPECT_THAT(book.left_out(start).keys, IsEmpty());
}

TEST(RelayBook, AHeldKeyIsTriedAgainAfterDoublingPauses) {
    RelayBook book({});
    auto now = start;
    for (const auto pause : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
        book.add({record(1, "a"), record(2, "a")});
        EXPECT_THAT(sendable(book), ElementsAre(1));
        const auto held = book.failed(1, SendFailure::record, now);
        ASSERT_TRUE(held);
        EXPECT_EQ(held->pause, pause);
        EXPECT_EQ(held->first, now == start);
        EXPECT_TRUE(book.empty());
        now += pause;
        EXPECT_THAT(book.left_out(now).keys, IsEmpty());
    }
    book.add({record(1, "a"), record(2, "a")});
    EXPECT_EQ(book.room_rows(), 499U) << "one row of it is tried, and no more are kept";
    sendable(book);
    book.delivered(1, now);
    EXPECT_EQ(book.held_keys(), 0U);
    EXPECT_TRUE(book.waits_for_rows());
    book.add({record(2, "a")});
    EXPECT_THAT(sendable(book), ElementsAre(2));
    EXPECT_TRUE(book.failed(2, SendFailure::record, now)->first) << "it starts again";
}

TEST(RelayBook, ATopicThatFailsHoldsAllOfItAndNoOtherTopic) {
    RelayBook book({});
    book.add({record(1, "a"), record(2, "b"), record(3, "a"), record(4, "c", "other"),
              record(5, "c", "other")});
    EXPECT_THAT(sendable(book), ElementsAre(1, 2, 4));
    EXPECT_TRUE(book.failed(1, SendFailure::topic, start)->first);
    EXPECT_FALSE(book.failed(2, SendFailure::topic, start + 5ms)->first) << "one failure, not two";
    book.delivered(4, start);
    EXPECT_THAT(sendable(book), ElementsAre(5));
    EXPECT_THAT(book.left_out(start).topics, ElementsAre("topic"));
    EXPECT_THAT(book.left_out(start).keys, ElementsAre("c"));
    EXPECT_EQ(book.next_try(start), start + 1s);
    EXPECT_THAT(book.left_out(start + 1s).topics, IsEmpty());
    // One of its records arrives: it is well again.
    book.add({record(1, "a"), record(3, "a")});
    EXPECT_THAT(sendable(book), ElementsAre(1));
    book.delivered(1, start + 1s);
    EXPECT_EQ(book.held_topics(), 0U);
    book.add({record(3, "a")});
    EXPECT_THAT(sendable(book), ElementsAre(3));
}

TEST(RelayBook, OfAHeldTopicTheRowsUnderWayAreStillAnswered) {
    RelayBook book({});
    book.add({record(1, "a"), record(2, "b"), record(3, "b")});
    sendable(book);
    book.failed(1, SendFailure::topic, start);
    book.delivered(2, start);
    EXPECT_THAT(sent(book), ElementsAre(2));
    EXPECT_THAT(sendable(book), IsEmpty()) << "its later rows are read again";
    EXPECT_TRUE(book.empty());
}

TEST(RelayBook, BeyondSoManyHeldKeysTheirTopicIsHeldAndTheyStayHeld) {
    RelayBook book({.held_keys = 2});
    book.add({record(1, "a"), record(2, "b"), record(3, "c"), record(4, "d", "other")});
    sendable(book);
    book.failed(1, SendFailure::record, start);
    book.failed(2, SendFailure::record, start);
    EXPECT_EQ(book.held_keys(), 2U);
    book.failed(4, SendFailure::record, start);
    EXPECT_EQ(book.held_topics(), 0U) << "another topic's key";
    book.failed(3, SendFailure::record, start);
    EXPECT_THAT(book.left_out(start).topics, ElementsAre("topic"));
    EXPECT_EQ(book.held_keys(), 3U);
}

// A record that was sent before the hold says nothing of those that failed: without the hold, they
// would be sent again at once.
TEST(RelayBook, ADeliveryDoesNotEndAHoldThatBeganWhileItsRecordWasUnderWay) {
    RelayBook book({});
    book.add({record(1, "a"), record(2, "b")});
    sendable(book);
    book.failed(1, SendFailure::topic, start);
    book.delivered(2, start + 999ms);
    EXPECT_THAT(book.left_out(start + 999ms).topics, ElementsAre("topic"));
    EXPECT_THAT(book.left_out(start + 1s).topics, IsEmpty());
    book.add({record(3, "a")});
    sendable(book, start + 1s);
    EXPECT_EQ(book.failed(3, SendFailure::topic, start + 1s)->pause, 2s) << "it failed twice";
}

TEST(RelayBook, AHotKeyLeavesRoomForOthers) {
    RelayBook book({.rows = 10, .rows_of_key = 3});
    std::vector<OutboxRecord> hot;
    for (int i = 1; i <= 10; ++i) hot.push_back(record(i, "a"));
    book.add(std::move(hot));
    EXPECT_TRUE(book.has_room());
    EXPECT_EQ(book.room_rows(), 7U);
    EXPECT_THAT(sendable(book), ElementsAre(1));
    book.delivered(1, start);
    sendable(book);
    book.delivered(2, start);
    sendable(book);
    book.delivered(3, start);
    EXPECT_THAT(sendable(book), IsEmpty()) << "4 comes with the next read";
    EXPECT_THAT(book.left_out(start).keys, IsEmpty());
}

TEST(RelayBook, ItsBytesAreBounded) {
    RelayBook book({.bytes = 100});
    book.add({record(1, "a", "topic", std::string(60, 'x'))});
    EXPECT_FALSE(book.has_room());
    sendable(book);
    book.delivered(1, start);
    EXPECT_TRUE(book.has_room());
    EXPECT_EQ(book.room_bytes(), 100U);
}

TEST(RelayBook, ARowThatSomebodyDeletedIsHeldUntilAReadDoesNotFindIt) {
    RelayBook book({});
    book.add({record(1, "a"), record(2, "b", "other")});
    sendable(book);
    book.failed(1, SendFailure::record, start);
    book.failed(2, SendFailure::topic, start);
    book.left_out(start + 999ms);
    book.add({});
    EXPECT_EQ(book.held_keys() + book.held_topics(), 2U) << "the read left them out";
    book.left_out(start + 1s);
    book.add({});
    EXPECT_EQ(book.held_keys() + book.held_topics(), 0U);
}

TEST(RelayBook, AReadThatWasCutForgetsNoHold) {
    RelayBook book({.rows = 2});
    book.add({record(5, "held")});
    sendable(book);
    book.failed(5, SendFailure::record, start);
    book.left_out(start + 1s);
    book.add(relay_test::different_keys(1, 2));
    EXPECT_EQ(book.held_keys(), 1U) << "its row may be the next one";
}

// The relay slept until its next poll, five seconds later.
TEST(RelayBook, AHoldThatEndsDuringAReadIsTriedAtOnce) {
    for (const SendFailure failure : {SendFailure::record, SendFailure::topic}) {
        RelayBook book({});
        book.add({record(1, "a")});
        sendable(book);
        book.failed(1, failure, start);
        book.left_out(start + 999ms);
        book.add({});
        EXPECT_EQ(book.next_try(start + 1001ms), start + 1s);
        book.left_out(start + 1001ms);
        book.add({record(1, "a")});
        EXPECT_EQ(book.next_try(start + 1001ms), std::nullopt) << "it is being tried";
    }
}

TEST(RelayBook, AHeldKeyThatGotNoPlaceInAReadIsTriedInTheNextOneAndThenNoMore) {
    RelayBook book({.rows = 4});
    book.add({record(1, "a"), record(2, "b"), record(3, "c")});
    sendable(book);
    for (const std::int64_t position : {1, 2, 3}) {
        book.failed(position, SendFailure::record, start);
    }
    const auto later = start + 2s;
    book.left_out(later);
    book.add({});
    EXPECT_EQ(book.next_try(later), start + 1s) << "c";
    book.left_out(later);
    book.add({});
    EXPECT_EQ(book.next_try(later), std::nullopt) << "the reads would never end";
}

TEST(RelayBook, TheKeysOfAHeldTopicAreTriedWhenItsHoldEnds) {
    RelayBook book({});
    book.add({record(1, "a"), record(2, "b")});
    sendable(book);
    book.failed(1, SendFailure::record, start);
    book.failed(2, SendFailure::topic, start + 500ms);
    EXPECT_EQ(book.next_try(start + 1200ms), start + 1500ms);
}

TEST(RelayBook, AnAnswerForARowThatItDoesNotKnowIsNothing) {
    RelayBook book({});
    book.add({record(1, "a")});
    book.delivered(1, start);
    EXPECT_FALSE(book.failed(1, SendFailure::record, start)) << "it was not sent yet";
    EXPECT_THAT(book.take_sent(), IsEmpty());
    EXPECT_THAT(sendable(book), ElementsAre(1));
}

// Cuts of its session would else double its pause, and a leader's death leave the outbox alone for
// as long.
TEST(RelayPause, WhoOnlyWaitsToLeadIsBackWithinTheTimeOfATakeover) {
    auto pause = first_relay_pause;
    for (int cut = 0; cut < 10; ++cut) {
        pause = relay_pause(RelayTerm::waited, pause, 2s);
        EXPECT_LE(pause, 2s) << cut;
    }
    EXPECT_EQ(relay_pause(RelayTerm::waited, 30s, 2s), 2s) << "it led before, and failed";
}

TEST(RelayPause, OfALeaderThatFailsDoublesUntilItHasSentSomething) {
    EXPECT_EQ(relay_pause(RelayTerm::led, first_relay_pause, 2s), 1s);
    EXPECT_EQ(relay_pause(RelayTerm::led, 20s, 2s), 30s);
    EXPECT_EQ(relay_pause(RelayTerm::sent, 30s, 2s), first_relay_pause);
}

TEST(RelayPause, WhoGaveUpTheLeadLetsAnotherOneAskFirst) {
    EXPECT_EQ(relay_pause(RelayTerm::gave_up, first_relay_pause, 2s), 4s);
    EXPECT_EQ(relay_pause(RelayTerm::gave_up, 30s, 2s), 4s);
}

TEST(SendFailure, TellsRecordTopicAndWhatPasses) {
    EXPECT_EQ(send_failure(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE), SendFailure::record);
    EXPECT_EQ(send_failure(RD_KAFKA_RESP_ERR_INVALID_RECORD), SendFailure::record);
    EXPECT_EQ(send_failure(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART), SendFailure::topic);
    EXPECT_EQ(send_failure(RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC), SendFailure::topic);
    EXPECT_EQ(send_failure(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED), SendFailure::topic);
    EXPECT_EQ(send_failure(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT), SendFailure::passing);
    EXPECT_EQ(send_failure(RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS), SendFailure::passing);
    EXPECT_EQ(send_failure(12345), SendFailure::passing) << "what is not known is tried again";
}

}  // namespace
}  // namespace onceward
