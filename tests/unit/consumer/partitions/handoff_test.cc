#include "consumer/partitions/handoff.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace onceward {
namespace {

using namespace std::chrono_literals;

class HandoffTest : public testing::Test {
  protected:
    HandoffTest() {
        handoff_.assigned({zero_, one_});
        read_from(zero_, 0);
        read_from(one_, 0);
    }
    void read_from(const TopicPartition& partition, std::int64_t offset) {
        FenceState fence;
        fence.owner = "me";
        fence.incarnation = "row";
        fence.next_offset = Offset{offset};
        handoff_.with([&](Assignment& assignment) { assignment.taken(partition, fence); });
        handoff_.begin_seeks();
        handoff_.sought(partition, Offset{offset});
    }
    // Messages at [begin, end), and nothing but the way to `end` beyond them.
    static Chunk chunk(const TopicPartition& partition, std::int64_t begin, std::int64_t messages,
                       std::int64_t end) {
        Chunk chunk;
        for (std::int64_t i = 0; i < messages; ++i) {
            Message& message = chunk.messages.emplace_back();
            message.record.partition = partition.partition;
            message.record.offset = Offset{begin + i};
            chunk.bytes += 10;
        }
        chunk.spans.push_back({partition.partition, Offset{begin}, Offset{end}, LeaderEpoch{-1}});
        return chunk;
    }
    void push(const TopicPartition& partition, std::int64_t begin, std::int64_t messages,
              std::int64_t end) {
        handoff_.push(0, chunk(partition, begin, messages, end));
    }
    Handoff::Work work(std::chrono::milliseconds wait = 0ms) {
        return handoff_.next_work(true, Handoff::Clock::now() + wait);
    }
    static Span span(const TopicPartition& partition, std::int64_t begin, std::int64_t end) {
        return {partition.partition, Offset{begin}, Offset{end}, LeaderEpoch{-1}};
    }

    const TopicPartition zero_{"topic", Partition{0}};
    const TopicPartition one_{"topic", Partition{1}};
    Handoff handoff_{{"topic"}, {.messages = 10, .bytes = 1000}, {1s, 5s}};
};

TEST_F(HandoffTest, ABatchIsWhatGatheredUpToItsLimit) {
    push(zero_, 0, 4, 4);
    push(zero_, 4, 4, 8);
    push(one_, 0, 4, 4);
    const Handoff::Work first = work();
    EXPECT_EQ(first.kind, Handoff::Work::Kind::batch);
    EXPECT_EQ(first.batch.message_count(), 8U);
    EXPECT_EQ(first.batch.spans, std::vector{span(zero_, 0, 8)});
    handoff_.done();
    EXPECT_EQ(work().batch.spans, std::vector{span(one_, 0, 4)});
}

TEST_F(HandoffTest, WorkWaitsWhileThereIsABatchOrAPartitionToTakeOrItIsToStop) {
    EXPECT_FALSE(handoff_.work_waits());
    push(zero_, 0, 0, 5);
    EXPECT_FALSE(handoff_.work_waits()) << "an end alone is no batch";
    push(one_, 0, 1, 1);
    EXPECT_TRUE(handoff_.work_waits());
    work();
    EXPECT_FALSE(handoff_.work_waits());
    handoff_.done();
    const TopicPartition two{"topic", Partition{2}};
    handoff_.assigned({two});
    EXPECT_TRUE(handoff_.work_waits());
    handoff_.revoked({two}, 0ms);
    EXPECT_FALSE(handoff_.work_waits());
    handoff_.stop();
    EXPECT_TRUE(handoff_.work_waits());
}

TEST_F(HandoffTest, AnAbsorbedEndTakesItsOwnLeaderEpochAndNotTheRecords) {
    Chunk record = chunk(zero_, 0, 1, 1);
    record.spans[0].leader_epoch = LeaderEpoch{5};
    handoff_.push(0, std::move(record));
    push(zero_, 1, 0, 3);
    EXPECT_EQ(work().batch.spans, std::vector{span(zero_, 0, 3)});
}

TEST_F(HandoffTest, TwoThousandMessagesMayWaitWhereBatchesAreSmall) {
    Handoff handoff{{"topic"}, {.messages = 10, .bytes = 1'000'000}, {1s, 5s}};
    handoff.push(0, chunk(zero_, 0, 1999, 1999));
    EXPECT_TRUE(handoff.has_room(0));
    handoff.push(0, chunk(one_, 0, 1, 1));
    EXPECT_FALSE(handoff.has_room(0));
}

TEST_F(HandoffTest, TheQueueIsFullAtTheBytesOfTwoBatches) {
    push(zero_, 0, 199, 199);
    EXPECT_TRUE(handoff_.has_room(0));
    push(one_, 0, 1, 1);
    EXPECT_FALSE(handoff_.has_room(0));
    work();
    EXPECT_TRUE(handoff_.has_room(0));
}

TEST_F(HandoffTest, ManyTopicsShareTheirBatchesAndOneThatHasNothingMayRead) {
    std::vector<std::string> names;
    for (int i = 0; i < 40; ++i) names.push_back("topic-" + std::to_string(i));
    Handoff handoff{names, {.messages = 1000, .bytes = 1'000'000}, {1s, 5s}};
    const TopicPartition first{names[1], Partition{0}};
    handoff.assigned({first});
    FenceState fence;
    fence.owner = "me";
    handoff.with([&](Assignment& assignment) { assignment.taken(first, fence); });
    handoff.begin_seeks();
    handoff.sought(first, Offset{0});
    for (std::size_t i = 0; i < 31; ++i) handoff.push(i, chunk(zero_, 0, 1000, 1000));
    handoff.push(31, chunk(zero_, 0, 999, 999));
    EXPECT_TRUE(handoff.has_room(0));
    handoff.push(32, chunk(zero_, 0, 1, 1));
    for (std::size_t i = 0; i < 33; ++i) EXPECT_FALSE(handoff.has_room(i)) << i;
    EXPECT_TRUE(handoff.has_room(33));
    EXPECT_EQ(handoff.next_work(true, Handoff::Clock::now()).topic, 1U);
    EXPECT_TRUE(handoff.has_room(0));
    handoff.clear();
    EXPECT_TRUE(handoff.has_room(32));
}

TEST_F(HandoffTest, WhatWasReadBeforeASeekIsThrownAway) {
    push(zero_, 0, 3, 3);
    push(one_, 0, 2, 2);
    handoff_.with([&](Assignment& a) { a.out_of_range(zero_); });
    read_from(zero_, 7);
    push(zero_, 7, 1, 8);
    EXPECT_EQ(work().batch.spans, (std::vector{span(zero_, 7, 8), span(one_, 0, 2)}));
}

TEST_F(HandoffTest, NothingOfAPartitionWithoutItsFenceIsHandedOut) {
    push(zero_, 0, 3, 3);
    handoff_.with([&](Assignment& a) { a.missed(zero_, Handoff::Clock::now(), 0); });
    EXPECT_EQ(work().kind, Handoff::Work::Kind::none);
}

TEST_F(HandoffTest, AnEndWithoutMessagesRidesOnTheNextBatch) {
    push(zero_, 0, 0, 5);
    push(zero_, 5, 0, 6);
    EXPECT_EQ(work().kind, Handoff::Work::Kind::none);
    EXPECT_EQ(handoff_.tail(zero_, Offset{0}), span(zero_, 0, 6));
    push(one_, 0, 1, 1);
    EXPECT_EQ(work().batch.spans, (std::vector{span(zero_, 0, 6), span(one_, 0, 1)}));
}

TEST_F(HandoffTest, ATailBehindMessagesIsNoTail) {
    push(zero_, 0, 1, 1);
    push(zero_, 1, 0, 3);
    EXPECT_EQ(handoff_.tail(zero_, Offset{0}), std::nullopt);
}

TEST_F(HandoffTest, ATailThatTheFenceWasMovedOverIsNotPassedAgain) {
    push(zero_, 0, 0, 5);
    handoff_.drop_tail(zero_, span(zero_, 0, 5));
    push(zero_, 5, 2, 7);
    EXPECT_EQ(work().batch.spans, std::vector{span(zero_, 5, 7)});
}

TEST_F(HandoffTest, RevokingWaitsForTheBatchInFlightAndCommitsItsOffsets) {
    push(zero_, 0, 3, 3);
    work();
    auto revoked = std::async(std::launch::async, [&] { return handoff_.revoked({zero_}, 30s); });
    EXPECT_EQ(revoked.wait_for(50ms), std::future_status::timeout);
    EXPECT_EQ(handoff_.leaving(), std::set{zero_.partition});
    const FenceMove move{span(zero_, 0, 3), {}};
    handoff_.committed("topic", {&move, 1});
    handoff_.done();
    ASSERT_EQ(revoked.wait_for(10s), std::future_status::ready);
    const std::vector<CommittedOffset> offsets = revoked.get();
    ASSERT_EQ(offsets.size(), 1U);
    EXPECT_EQ(offsets[0].offset, Offset{3});
    EXPECT_EQ(offsets[0].incarnation, "row");
    EXPECT_TRUE(handoff_.take_offsets().empty()) << "the next owner may be further by then";
    EXPECT_EQ(handoff_.take_left(), std::vector{zero_});
    EXPECT_TRUE(handoff_.take_left().empty());
}

TEST_F(HandoffTest, RevokingDoesNotWaitBeyondItsDeadlineNorForOthers) {
    push(zero_, 0, 3, 3);
    work();
    EXPECT_TRUE(handoff_.revoked({one_}, 1h).empty());
    EXPECT_TRUE(handoff_.revoked({zero_}, 20ms).empty());
    const FenceMove late{span(zero_, 0, 3), {}};
    handoff_.committed("topic", {&late, 1});
    EXPECT_TRUE(handoff_.take_offsets().empty()) << "somebody else has the partition by now";
}

TEST_F(HandoffTest, RevokingDoesNotWaitForWhatTheBatchInFlightHasGivenUp) {
    push(zero_, 0, 3, 3);
    push(one_, 0, 3, 3);
    ASSERT_EQ(work().batch.spans.size(), 2U);
    auto revoke = std::async(std::launch::async, [&] { return handoff_.revoked({zero_}, 20s); });
    while (handoff_.leaving().empty()) std::this_thread::yield();
    handoff_.abandoned(handoff_.leaving());
    ASSERT_EQ(revoke.wait_for(10s), std::future_status::ready);
    EXPECT_TRUE(revoke.get().empty());
    EXPECT_TRUE(handoff_.leaving().empty());
    EXPECT_EQ(handoff_.on_the_way().count(zero_), 0U);
    EXPECT_EQ(handoff_.on_the_way().count(one_), 1U);
}

TEST_F(HandoffTest, ARevokedPartitionIsOverdueOnlyBehindItsDeadline) {
    push(zero_, 0, 3, 3);
    work();
    EXPECT_TRUE(handoff_.overdue().empty());
    auto revoked = std::async(std::launch::async, [&] { return handoff_.revoked({zero_}, 200ms); });
    while (handoff_.leaving().empty()) std::this_thread::yield();
    EXPECT_TRUE(handoff_.overdue().empty()) << "it is still waited for";
    revoked.get();
    EXPECT_EQ(handoff_.overdue(), std::set{zero_.partition});
    handoff_.done();
    EXPECT_TRUE(handoff_.overdue().empty());
}

TEST_F(HandoffTest, WithoutAConnectionNothingIsHandedOutAndNothingIsLost) {
    push(zero_, 0, 3, 3);
    EXPECT_EQ(handoff_.next_work(false, Handoff::Clock::now()).kind, Handoff::Work::Kind::none);
    EXPECT_EQ(work().batch.message_count(), 3U);
}

TEST_F(HandoffTest, TheWriterStopsWhenEveryPartitionIsGivenBack) {
    handoff_.stop();
    EXPECT_EQ(work().kind, Handoff::Work::Kind::none);
    handoff_.revoked({zero_, one_}, 0ms);
    EXPECT_EQ(work().kind, Handoff::Work::Kind::stop);
}

TEST_F(HandoffTest, APauseEndsWhenAPartitionInFlightLeaves) {
    push(zero_, 0, 3, 3);
    work();
    auto paused = std::async(std::launch::async, [&] { handoff_.pause(1h); });
    handoff_.revoked({zero_}, 0ms);
    EXPECT_EQ(paused.wait_for(10s), std::future_status::ready);
}

}  // namespace
}  // namespace onceward
