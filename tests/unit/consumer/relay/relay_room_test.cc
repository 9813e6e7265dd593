// The room in the relay's book: rows that Kafka does not answer leave it to others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>

#include "tests/unit/consumer/relay/outbox_records.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using relay_test::different_keys;
using relay_test::record;
using relay_test::sendable;
using relay_test::start;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// A row without a key.
OutboxRecord sized(std::int64_t position, const std::string& topic, std::size_t bytes) {
    return record(position, std::nullopt, topic, std::string(bytes, 'x'));
}

TEST(RelayRoom, RowsThatKafkaDoesNotAnswerLeaveTheirRoomToOthers) {
    RelayBook book({.rows = 10});
    book.add(different_keys(1, 10));
    sendable(book);
    book.set_aside_slow(start + 499ms);
    EXPECT_FALSE(book.has_room());
    book.set_aside_slow(start + 500ms);
    EXPECT_TRUE(book.has_room());
    EXPECT_EQ(book.room_rows(), 10U);
    EXPECT_EQ(book.under_way(), 10U);
    EXPECT_FALSE(book.empty());
    EXPECT_THAT(book.left_out(start + 500ms).keys, SizeIs(10)) << "they would be sent twice";
    book.delivered(1, start + 1s);
    book.failed(2, SendFailure::passing, start + 1s);
    EXPECT_EQ(book.room_rows(), 10U) << "their room was given back twice";
    EXPECT_THAT(book.take_sent(), SizeIs(1));
    EXPECT_EQ(book.under_way(), 8U);
}

TEST(RelayRoom, BytesThatKafkaDoesNotAnswerLeaveTheirRoomToOthers) {
    RelayBook book({.bytes = 100});
    book.add({record(1, "a", "topic", std::string(60, 'x'))});
    sendable(book);
    EXPECT_FALSE(book.has_room());
    book.set_aside_slow(start + 500ms);
    EXPECT_TRUE(book.has_room());
    EXPECT_EQ(book.room_bytes(), 100U);
}

TEST(RelayRoom, AnAnsweredRowIsNotSlow) {
    RelayBook book({.rows = 2});
    book.add({record(1, "a"), record(2, "a")});
    sendable(book);
    book.delivered(1, start + 400ms);
    EXPECT_THAT(sendable(book, start + 400ms), ElementsAre(2));
    book.set_aside_slow(start + 500ms);
    EXPECT_EQ(book.room_rows(), 1U);
    book.set_aside_slow(start + 900ms);
    EXPECT_EQ(book.room_rows(), 2U);
}

TEST(RelayRoom, TheLaterRowsOfASlowKeyAreDroppedAndReadAgainAfterItsAnswer) {
    RelayBook book({});
    book.add({record(1, "a"), record(2, "a"), record(3, "a")});
    sendable(book);
    book.set_aside_slow(start + 500ms);
    EXPECT_THAT(book.left_out(start + 500ms).keys, ElementsAre("a"));
    EXPECT_FALSE(book.waits_for_rows()) << "its next row would overtake the first";
    book.delivered(1, start + 1s);
    EXPECT_TRUE(book.empty());
    EXPECT_TRUE(book.waits_for_rows());
    EXPECT_THAT(book.left_out(start + 1s).keys, IsEmpty());
}

// One partition without a leader: none of its records is answered for 30 seconds.
TEST(RelayRoom, ATopicThatKafkaDoesNotAnswerLeavesRoomToOthers) {
    RelayBook book({.rows = 10, .all_rows = 20});
    auto now = start;
    std::int64_t position = 1;
    while (book.left_out(now).topics.empty()) {
        ASSERT_LT(position, 100) << "it takes all the room";
        book.add(different_keys(position, 10, "dead"));
        position += 10;
        sendable(book, now);
        now += 500ms;
        book.set_aside_slow(now);
        ASSERT_TRUE(book.has_room());
    }
    EXPECT_THAT(book.left_out(now).topics, ElementsAre("dead"));
    EXPECT_EQ(book.under_way(), 16U) << "four fifths";
    book.add(different_keys(200, 3, "well"));
    EXPECT_THAT(sendable(book, now), ElementsAre(200, 201, 202));
    book.failed(1, SendFailure::passing, now);
    EXPECT_THAT(book.left_out(now).topics, ElementsAre("dead")) << "the other one needs some too";
    for (std::int64_t well : {200, 201, 202}) book.delivered(well, now);
    EXPECT_THAT(book.left_out(now).topics, IsEmpty());
}

TEST(RelayRoom, ATopicsBytesLeaveRoomToOthers) {
    RelayBook book({.all_bytes = 100});
    book.add({record(1, "a", "topic", std::string(70, 'x'))});
    EXPECT_THAT(book.left_out(start).topics, IsEmpty());
    book.add({record(2, "b", "topic", std::string(8, 'x')), record(3, "c")});
    EXPECT_THAT(sendable(book), ElementsAre(1, 2)) << "the third row has no room";
    EXPECT_THAT(book.left_out(start).topics, ElementsAre("topic"));
    book.add({record(4, "large", "other", std::string(200, 'x'))});
    EXPECT_THAT(sendable(book), ElementsAre(4)) << "the only row of its topic passes";
}

// Two rows took four thirds of the share, and no topic was read for 30 seconds.
TEST(RelayRoom, LargeRowsThatKafkaDoesNotAnswerLeaveRoomToOtherTopics) {
    RelayBook book({.all_bytes = 120});
    book.add({sized(1, "dead", 40), sized(2, "dead", 40)});
    EXPECT_THAT(sendable(book), ElementsAre(1, 2));
    book.set_aside_slow(start + 500ms);
    EXPECT_THAT(book.left_out(start + 500ms).topics, IsEmpty());
    book.add({sized(3, "dead", 40)});
    EXPECT_THAT(sendable(book, start + 500ms), IsEmpty());
    EXPECT_TRUE(book.has_room());
    EXPECT_THAT(book.left_out(start + 500ms).topics, ElementsAre("dead"))
        << "each read would find the third row again";
    book.add({sized(4, "well", 30)});
    EXPECT_THAT(sendable(book, start + 500ms), ElementsAre(4));
    book.delivered(4, start + 1s);
    book.failed(1, SendFailure::passing, start + 1s);
    EXPECT_THAT(book.left_out(start + 1s).topics, IsEmpty()) << "the third row has room now";
    book.add({sized(3, "dead", 40)});
    EXPECT_THAT(sendable(book, start + 1s), ElementsAre(3));
}

TEST(RelayRoom, ARowThatIsLargerThanTheBookLeavesRoomToOtherTopics) {
    RelayBook book({.all_bytes = 120, .cut_bytes = 100});
    book.add({sized(1, "dead", 200), sized(2, "well", 10), sized(3, "large", 200)});
    EXPECT_THAT(sendable(book), ElementsAre(1, 2)) << "one such row at a time";
    book.set_aside_slow(start + 500ms);
    EXPECT_TRUE(book.has_room());
    EXPECT_THAT(book.left_out(start + 500ms).topics, UnorderedElementsAre("dead", "large"));
    book.failed(1, SendFailure::passing, start + 30s);
    EXPECT_THAT(book.left_out(start + 30s).topics, IsEmpty());
    book.add({sized(3, "large", 200)});
    EXPECT_THAT(sendable(book, start + 30s), ElementsAre(3));
    for (const std::int64_t position : {2, 3}) book.delivered(position, start + 31s);
    EXPECT_TRUE(book.empty());
    EXPECT_EQ(book.room_bytes(), RelayBook::Limits().bytes) << "it gave back as much as it took";
}

// A dead topic's record of 10 MB kept the large rows of all topics waiting until it was given up.
TEST(RelayRoom, ALargeRowThatKafkaDoesNotAnswerLetsLargeRowsOfOtherTopicsPass) {
    RelayBook book({.all_bytes = 1'000'000, .cut_bytes = 4'000'000});
    const auto large = [](std::int64_t position, const std::string& topic) {
        return sized(position, topic, 2'000'000);
    };
    book.add({large(1, "dead"), large(2, "well")});
    EXPECT_THAT(sendable(book), ElementsAre(1));
    book.set_aside_slow(start + 500ms);
    EXPECT_THAT(book.left_out(start + 500ms).topics, ElementsAre("dead")) << "it has one";
    book.add({large(2, "well"), large(3, "other")});
    EXPECT_THAT(sendable(book, start + 500ms), ElementsAre(2));
    book.set_aside_slow(start + 1s);
    EXPECT_THAT(book.left_out(start + 1s).topics, UnorderedElementsAre("dead", "well", "other"))
        << "each takes its bytes of memory";
    book.delivered(2, start + 2s);
    EXPECT_THAT(book.left_out(start + 2s).topics, ElementsAre("dead"));
    book.add({large(3, "other")});
    EXPECT_THAT(sendable(book, start + 2s), ElementsAre(3));
}

// Tries of held keys come first, one after the other.
TEST(RelayRoom, ALargeRowPassesThoughItsTopicHasASmallOne) {
    RelayBook book({.all_bytes = 120});
    book.add({sized(1, "topic", 5), sized(2, "topic", 200)});
    EXPECT_THAT(sendable(book), ElementsAre(1, 2));
    EXPECT_TRUE(book.has_room());
}

TEST(RelayRoom, IfALargeRowHasNoRoomTheSmallRowsOfItsKeyAreNotTakenEither) {
    RelayBook book({.all_bytes = 120});
    const OutboxRecord large = record(2, "key", "topic", std::string(60, 'x'));
    const OutboxRecord small = record(3, "key", "topic", "small");
    book.add({sized(1, "topic", 60), large, small});
    EXPECT_THAT(sendable(book), ElementsAre(1));
    book.delivered(1, start);
    EXPECT_THAT(sendable(book), IsEmpty());
    EXPECT_THAT(book.left_out(start).topics, IsEmpty());
    book.add({large, small});
    EXPECT_THAT(sendable(book), ElementsAre(2));
}

// A row of each topic that had none was taken, so that many topics had no bound.
TEST(RelayRoom, AFullBookTakesNoRowOfYetAnotherTopic) {
    for (const bool by_bytes : {false, true}) {
        RelayBook book(by_bytes ? RelayBook::Limits{.all_bytes = 5}
                                : RelayBook::Limits{.all_rows = 5});
        std::vector<OutboxRecord> rows = different_keys(1, 4, "one");
        rows.push_back(record(5, "key-5", "two"));
        rows.push_back(record(6, "key-6", "three"));
        if (by_bytes) {
            for (OutboxRecord& row : rows) row.key = "x";
        }
        book.add(std::move(rows));
        EXPECT_THAT(sendable(book), ElementsAre(1, 2, 3, 4, 5));
        book.set_aside_slow(start + 500ms);
        EXPECT_FALSE(book.has_room()) << "each read would find the sixth row again";
        book.delivered(5, start + 1s);
        EXPECT_TRUE(book.has_room());
        book.add({record(6, "key-6", "three")});
        EXPECT_THAT(sendable(book, start + 1s), ElementsAre(6));
    }
}

// 0.5 MiB/s: all rows are slow, and each one waits for those that were sent before it.
TEST(RelayRoom, OverASlowLinkEveryRowIsAnsweredWithinTheDeliverysTimeOut) {
    RelayBook book({});
    const std::string payload(16 * 1024, 'x');
    constexpr auto time_of_row = 31'250us;
    struct Answer {
        RelayBook::Clock::time_point at;
        std::int64_t position;
    };
    std::deque<Answer> answers;
    auto link_is_free = start;
    RelayBook::Clock::duration longest{0};
    std::int64_t position = 0;
    for (auto now = start; now < start + 20s; now += 500ms) {
        for (; !answers.empty() && answers.front().at <= now; answers.pop_front()) {
            book.delivered(answers.front().position, now);
        }
        book.set_aside_slow(now);
        const std::size_t room = std::min(book.room_rows(), book.room_bytes() / payload.size());
        std::vector<OutboxRecord> rows;
        while (rows.size() < room) {
            ++position;
            rows.push_back(record(position, "key-" + std::to_string(position),
                                  "topic-" + std::to_string(position % 4), payload));
        }
        book.add(std::move(rows));
        for (const std::int64_t row : sendable(book, now)) {
            link_is_free = std::max(link_is_free, now) + time_of_row;
            longest = std::max(longest, link_is_free - now);
            answers.push_back({link_is_free, row});
        }
    }
    EXPECT_LT(longest, 30s);
}

TEST(RelayRoom, IfARowOfAKeyHasNoRoomItsLaterRowsAreNotTakenEither) {
    RelayBook book({.all_rows = 5});
    std::vector<OutboxRecord> rows = different_keys(1, 4);
    for (int i = 5; i <= 8; ++i) rows.push_back(record(i, "late"));
    book.add(std::move(rows));
    EXPECT_THAT(sendable(book), ElementsAre(1, 2, 3, 4));
    book.delivered(1, start);
    EXPECT_THAT(sendable(book), IsEmpty());
    EXPECT_THAT(book.left_out(start).keys, Not(Contains("late"))) << "5 is read again";
}

TEST(RelayRoom, OfManyHeldKeysAFewAreTriedAtATimeThoseFirstThatWaitTheLongest) {
    RelayBook book({.rows = 4});
    book.add({record(1, "a"), record(2, "b"), record(3, "c"), record(4, "d", "other")});
    sendable(book);
    book.failed(3, SendFailure::passing, start);
    book.failed(2, SendFailure::passing, start + 1ms);
    book.failed(1, SendFailure::passing, start + 2ms);
    book.failed(4, SendFailure::passing, start + 3ms);
    const auto later = start + 2s;
    EXPECT_THAT(book.left_out(later).keys, ElementsAre("a")) << "each topic has places of its own";
    book.add({record(3, "c"), record(2, "b"), record(4, "d", "other")});
    EXPECT_THAT(sendable(book, later), ElementsAre(3, 2, 4));
    EXPECT_THAT(book.left_out(later + 400ms).keys, UnorderedElementsAre("a", "b", "c", "d"))
        << "two of them are still under way";
    book.failed(3, SendFailure::passing, later + 1s);
    EXPECT_THAT(book.left_out(later + 1s).keys, UnorderedElementsAre("b", "c", "d"));
    book.delivered(2, later + 1s);
    EXPECT_THAT(book.left_out(later + 1s).keys, UnorderedElementsAre("c", "d"));
}

// Two partitions lost their leaders, and the one of the even positions has one again. The tries of
// the other one kept the places for 30 seconds, so that its keys waited with them for minutes.
TEST(RelayRoom, TriesThatKafkaDoesNotAnswerLeaveTheirPlacesToOtherKeys) {
    RelayBook book({.rows = 20});
    for (std::int64_t first = 1; first <= 200; first += 20) {
        book.add(different_keys(first, 20));
        for (const std::int64_t position : sendable(book)) {
            book.failed(position, SendFailure::passing, start + position * 1ms);
        }
    }
    std::set<std::int64_t> arrived;
    for (auto now = start + 2s; now < start + 30s; now += 500ms) {
        book.set_aside_slow(now);
        const std::vector<std::string> out = book.left_out(now).keys;
        std::vector<OutboxRecord> found;
        for (OutboxRecord& row : different_keys(1, 200)) {
            if (std::ranges::find(out, *row.order_key) != out.end()) continue;
            if (!arrived.contains(row.position)) found.push_back(std::move(row));
        }
        book.add(std::move(found));
        for (const std::int64_t position : sendable(book, now)) {
            if (position % 2 != 0) continue;
            book.delivered(position, now);
            arrived.insert(position);
        }
    }
    EXPECT_THAT(arrived, SizeIs(100));
}

TEST(RelayRoom, SlowTriesLeaveRoomToTheOtherKeysOfTheirTopic) {
    RelayBook book({.rows = 10, .all_rows = 15});
    for (std::int64_t first = 1; first <= 20; first += 10) {
        book.add(different_keys(first, 10));
        for (const std::int64_t position : sendable(book)) {
            book.failed(position, SendFailure::passing, start + position * 1ms);
        }
    }
    auto now = start + 2s;
    for (const std::int64_t first : {1, 6}) {
        EXPECT_THAT(book.left_out(now).keys, SizeIs(15)) << "five are tried";
        book.add(different_keys(first, 5));
        EXPECT_THAT(sendable(book, now), SizeIs(5));
        now += 500ms;
        book.set_aside_slow(now);
    }
    EXPECT_THAT(book.left_out(now).keys, SizeIs(20)) << "ten slow tries are half of its share";
    EXPECT_THAT(book.left_out(now).topics, IsEmpty());
    book.add({record(21, "well")});
    EXPECT_THAT(sendable(book, now), ElementsAre(21));
    book.failed(1, SendFailure::passing, now);
    EXPECT_THAT(book.left_out(now).keys, Not(Contains("key-11"))) << "there is a place again";
}

// A busy topic cuts each read, and such a read forgets no hold.
TEST(RelayRoom, HeldKeysWhoseRowsAreNotFoundAreTriedInTurnWithTheOthers) {
    RelayBook book({.rows = 4});
    book.add({record(1, "deleted"), record(2, "deleted too"), record(3, "there")});
    sendable(book);
    for (const std::int64_t position : {1, 2, 3}) {
        book.failed(position, SendFailure::record, start + position * 1ms);
    }
    auto now = start + 2s;
    EXPECT_THAT(book.left_out(now).keys, ElementsAre("there"));
    book.add(different_keys(10, 4));
    for (const std::int64_t position : sendable(book, now)) book.delivered(position, now);
    now += 50ms;
    EXPECT_THAT(book.left_out(now).keys, ElementsAre("deleted too")) << "their order goes around";
    std::vector<OutboxRecord> rows = different_keys(20, 4);
    rows[0] = record(3, "there");
    book.add(std::move(rows));
    EXPECT_THAT(sendable(book, now), Contains(3));
    EXPECT_EQ(book.held_keys(), 3U) << "it is not known yet which rows are there";
}

TEST(RelayRoom, AHeldTopicIsTriedWithAFewRows) {
    RelayBook book({.rows = 4});
    book.add({record(1, "a")});
    sendable(book);
    book.failed(1, SendFailure::topic, start);
    book.left_out(start + 1s);
    book.add(different_keys(1, 4));
    EXPECT_THAT(sendable(book, start + 1s), ElementsAre(1, 2));
    EXPECT_THAT(book.left_out(start + 1s).topics, ElementsAre("topic"));
    book.delivered(1, start + 1s);
    EXPECT_THAT(book.left_out(start + 1s).topics, IsEmpty());
}

}  // namespace
}  // namespace onceward
