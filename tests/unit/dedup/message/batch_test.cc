#include "dedup/message/batch.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>

#include "dedup/base/expects.h"
#include "tests/support/unique.h"
#include "tests/unit/dedup/messages.h"

namespace onceward::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(Batch, ContiguousSpansGrowTogether) {
    Batch batch;
    EXPECT_THAT(append(batch, chunk({{0, 5}, {1, 7}}, {span(0, 5, 6), span(1, 7, 8)})), IsEmpty());
    EXPECT_THAT(append(batch, chunk({{0, 8}}, {span(0, 6, 9)})), IsEmpty());
    EXPECT_THAT(batch.spans, ElementsAre(span(0, 5, 9), span(1, 7, 8)));
    EXPECT_EQ(batch.message_count(), 3U);
}

// Taken over instead, the fence would move from 5 to 21 and 6..19 would be jumped over.
TEST(Batch, ASpanThatDoesNotBeginWhereTheLastOneEndedIsThrownAwayWithItsMessages) {
    Batch batch;
    append(batch, chunk({{0, 5}}, {span(0, 5, 6)}));
    EXPECT_THAT(append(batch, chunk({{0, 20}, {1, 3}}, {span(0, 20, 21), span(1, 3, 4)})),
                ElementsAre(Partition{0}));
    EXPECT_THAT(batch.spans, ElementsAre(span(0, 5, 6), span(1, 3, 4)));
    EXPECT_THAT(places(whole(batch)), ElementsAre(Pair(0, 5), Pair(1, 3)));
}

// A rewind is as foreign as a jump: its messages are read again from the fence.
TEST(Batch, ASpanThatBeginsBeforeTheLastOneEndedIsThrownAwayToo) {
    Batch batch;
    append(batch, chunk({{0, 5}, {0, 6}}, {span(0, 5, 7)}));
    EXPECT_THAT(append(batch, chunk({{0, 6}}, {span(0, 6, 7)})), ElementsAre(Partition{0}));
    EXPECT_THAT(batch.spans, ElementsAre(span(0, 5, 7)));
    EXPECT_EQ(batch.message_count(), 2U);
}

TEST(Batch, ASpanWithoutAMessageMovesTheFenceToo) {
    Batch batch;
    append(batch, chunk({}, {span(2, 10, 14)}));
    EXPECT_FALSE(batch.empty());
    EXPECT_THAT(append(batch, chunk({{2, 14}}, {span(2, 14, 15)})), IsEmpty());
    EXPECT_THAT(batch.spans, ElementsAre(span(2, 10, 15)));
}

TEST(Batch, TheLeaderEpochIsThatOfTheSpansEnd) {
    Batch batch;
    Chunk first = chunk({{0, 1}}, {span(0, 1, 2)});
    first.spans[0].leader_epoch = LeaderEpoch{4};
    append(batch, std::move(first));
    append(batch, chunk({}, {span(0, 2, 5)}));  // PARTITION_EOF tells no epoch
    EXPECT_EQ(batch.spans[0].leader_epoch, LeaderEpoch{-1});
    Chunk last = chunk({{0, 5}}, {span(0, 5, 6)});
    last.spans[0].leader_epoch = LeaderEpoch{5};
    append(batch, std::move(last));
    EXPECT_EQ(batch.spans[0].leader_epoch, LeaderEpoch{5});
}

TEST(Batch, AnEmptyBatchTakesAnyChunkAndAFullOneNone) {
    const BatchLimits limits{.messages = 2, .bytes = 100};
    Batch batch;
    Chunk large = chunk({{0, 1}, {0, 2}, {0, 3}}, {span(0, 1, 4)});
    large.bytes = 1000;
    EXPECT_TRUE(fits(batch, large, limits));
    append(batch, std::move(large));
    EXPECT_FALSE(fits(batch, chunk({{0, 4}}, {span(0, 4, 5)}), limits));
}

TEST(Batch, BothLimitsCount) {
    const BatchLimits limits{.messages = 3, .bytes = 100};
    Batch batch;
    Chunk first = chunk({{0, 1}}, {span(0, 1, 2)});
    first.bytes = 60;
    append(batch, std::move(first));
    Chunk heavy = chunk({{0, 2}}, {span(0, 2, 3)});
    heavy.bytes = 41;
    EXPECT_FALSE(fits(batch, heavy, limits));
    heavy.bytes = 40;
    EXPECT_TRUE(fits(batch, heavy, limits));
    EXPECT_FALSE(fits(batch, chunk({{0, 2}, {0, 3}, {0, 4}}, {span(0, 2, 5)}), limits));
}

TEST(Batch, DropTakesAPartitionOutAndLeavesTheOthers) {
    Batch batch;
    append(batch, chunk({{0, 1}, {1, 1}, {0, 2}}, {span(0, 1, 3), span(1, 1, 2)}));
    drop(batch, {Partition{0}});
    EXPECT_THAT(places(whole(batch)), ElementsAre(Pair(1, 1)));
    EXPECT_THAT(batch.spans, ElementsAre(span(1, 1, 2)));
    drop(batch, {Partition{1}});
    EXPECT_TRUE(batch.empty());
}

TEST(Halve, APartitionWithoutAMessageInTheFirstHalfIsLeftToTheSecond) {
    Batch batch;
    append(batch,
           chunk({{0, 1}, {0, 2}, {1, 8}, {0, 3}}, {span(0, 1, 9), span(1, 5, 9), span(2, 4, 6)}));
    const Halves halves = halve(whole(batch));
    EXPECT_THAT(places(halves.first), ElementsAre(Pair(0, 1), Pair(0, 2)));
    EXPECT_THAT(halves.first.spans, ElementsAre(span(0, 1, 3)));
    EXPECT_THAT(halves.second.spans, ElementsAre(span(0, 3, 9), span(1, 5, 9), span(2, 4, 6)));
}

// A batch of several partitions with gaps, and spans that end beyond the last message or hold none.
Batch random_batch(std::mt19937_64& random) {
    const auto pick = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random);
    };
    Batch batch;
    std::map<int, std::int64_t> position;
    const int partitions = pick(1, 5);
    for (int chunks = pick(1, 4); chunks > 0; --chunks) {
        std::vector<std::pair<int, std::int64_t>> messages;
        std::vector<Span> spans;
        for (int partition = 0; partition < partitions; ++partition) {
            const std::int64_t begin = position[partition];
            std::int64_t end = begin;
            for (int count = pick(0, 6); count > 0; --count) {
                end += pick(0, 3);
                messages.emplace_back(partition, end++);
            }
            end += pick(0, 2);
            if (end > begin) spans.push_back(span(partition, begin, end));
            position[partition] = end;
        }
        // Partitions interleave, their own order stays.
        std::shuffle(messages.begin(), messages.end(), random);
        std::stable_sort(messages.begin(), messages.end(), [](const auto& left, const auto& right) {
            return left.first == right.first && left.second < right.second;
        });
        std::map<int, std::vector<std::int64_t>> sorted;
        for (const auto& [partition, offset] : messages) sorted[partition].push_back(offset);
        std::map<int, std::size_t> taken;
        for (auto& [partition, offsets] : sorted) std::ranges::sort(offsets);
        for (auto& [partition, offset] : messages) offset = sorted[partition][taken[partition]++];
        append(batch, chunk(messages, std::move(spans)));
    }
    return batch;
}

// The parts' messages are the slice's, in order; each partition's spans follow on each other
// without a gap, cover what the slice covers, and hold their messages.
void expect_cover(const Slice& slice, const std::vector<Slice>& parts) {
    std::vector<std::pair<int, std::int64_t>> messages;
    std::map<Partition, Span> covered;
    for (const Slice& part : parts) {
        for (const auto& place : places(part)) messages.push_back(place);
        for (const Span& piece : part.spans) {
            EXPECT_LT(piece.begin, piece.end);
            const auto [known, first] = covered.try_emplace(piece.partition, piece);
            if (first) continue;
            EXPECT_EQ(known->second.end, piece.begin) << "a gap or an overlap";
            known->second.end = piece.end;
        }
        for (const Message* message : part.messages) {
            const auto holds = [&](const Span& s) {
                return s.partition == message->record.partition &&
                       s.begin <= message->record.offset && message->record.offset < s.end;
            };
            EXPECT_EQ(std::ranges::count_if(part.spans, holds), 1);
        }
    }
    EXPECT_EQ(messages, places(slice));
    std::vector<Span> all;
    for (const auto& [partition, piece] : covered) {
        all.push_back({partition, piece.begin, piece.end});
    }
    EXPECT_EQ(all, slice.spans);
}

TEST(Halve, ASliceIsNotCutIntoAPartWithoutAMessage) {
    Batch batch;
    append(batch, chunk({{0, 1}}, {span(0, 1, 2)}));
    EXPECT_THROW(halve(whole(batch)), BrokenContract);
    EXPECT_THROW(cut(whole(batch), 0), BrokenContract);
    EXPECT_THROW(cut(whole(batch), 1), BrokenContract);
}

TEST(Halve, EverySpanIsCoveredOnceWithoutAGap) {
    std::mt19937_64 random(support::seed());
    for (int round = 0; round < 500; ++round) {
        Batch batch = random_batch(random);
        const Slice slice = whole(batch);
        if (slice.messages.size() < 2) continue;
        const Halves halves = halve(slice);
        EXPECT_FALSE(halves.first.messages.empty());
        EXPECT_FALSE(halves.second.messages.empty());
        expect_cover(slice, {halves.first, halves.second});
        if (halves.second.messages.size() >= 2) {
            const Halves deeper = halve(halves.second);
            expect_cover(slice, {halves.first, deeper.first, deeper.second});
        }
    }
}

TEST(Singles, EverySpanIsCoveredOnceWithoutAGap) {
    std::mt19937_64 random(support::seed());
    for (int round = 0; round < 500; ++round) {
        Batch batch = random_batch(random);
        const Slice slice = whole(batch);
        if (slice.messages.empty()) continue;
        const std::vector<Slice> parts = singles(slice);
        EXPECT_EQ(parts.size(), slice.messages.size());
        expect_cover(slice, parts);
    }
}

}  // namespace
}  // namespace onceward::test
