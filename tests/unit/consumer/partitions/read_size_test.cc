#include <gtest/gtest.h>

#include "consumer/reader.h"

namespace onceward {
namespace {

constexpr BatchLimits limits{.messages = 400, .bytes = 1 << 20};

Chunk chunk_of(std::size_t messages, std::size_t bytes) {
    Chunk chunk;
    chunk.messages.resize(messages);
    chunk.bytes = bytes;
    return chunk;
}

TEST(ReadSizeTest, TheFirstReadIsSmallBecauseTheSizeOfTheRecordsIsUnknown) {
    EXPECT_EQ(ReadSize(limits).next(), 16U);
}

TEST(ReadSizeTest, SmallRecordsAreReadUpToTheBatchsLimit) {
    ReadSize size(limits);
    for (int i = 0; i < 20; ++i) size.took(chunk_of(16, 16 * 100));
    EXPECT_EQ(size.next(), 400U);
}

TEST(ReadSizeTest, ATopicsOwnLimitHolds) {
    WorkerOptions options;
    options.batch = limits;
    WorkerTopic topic;
    EXPECT_EQ(batch_limits(options, topic).messages, 400U);
    topic.batch_messages = 401;
    EXPECT_EQ(batch_limits(options, topic).messages, 400U);
    topic.batch_messages = 7;
    EXPECT_EQ(ReadSize(batch_limits(options, topic)).next(), 7U);
}

TEST(ReadSizeTest, ARecordLargerThanABatchIsReadAlone) {
    ReadSize size(limits);
    size.took(chunk_of(1, 5 << 20));
    EXPECT_EQ(size.next(), 1U);
}

TEST(ReadSizeTest, LargeRecordsAreRememberedForAWhile) {
    ReadSize size(limits);
    size.took(chunk_of(1, 1 << 20));
    size.took(chunk_of(1, 100));
    EXPECT_EQ(size.next(), 2U);
    size.took(chunk_of(1, 100));
    EXPECT_EQ(size.next(), 4U);
}

TEST(ReadSizeTest, AnEmptyChunkSaysNothing) {
    ReadSize size(limits);
    size.took(Chunk{});
    EXPECT_EQ(size.next(), 16U);
}

}  // namespace
}  // namespace onceward
