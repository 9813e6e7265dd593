#include <gtest/gtest.h>

#include "dedup/policy/topic_policy.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

const Partition partition{0};
const Offset offset{5};

TEST(MessageRetries, DoubleTheirPauseUpToFiveMinutesAndEnd) {
    MessageRetries retries(12, 1s);
    EXPECT_EQ(retries.next(partition, offset), 1s);
    EXPECT_EQ(retries.next(partition, offset), 2s);
    EXPECT_EQ(retries.next(partition, offset), 4s);
    for (int i = 0; i < 8; ++i) retries.next(partition, offset);
    EXPECT_EQ(retries.next(partition, offset), 5min);
    EXPECT_EQ(retries.next(partition, offset), std::nullopt);
    EXPECT_EQ(retries.tried(partition, offset), 12);
}

TEST(MessageRetries, AreNoneUnlessAskedFor) {
    MessageRetries retries(0, 1s);
    EXPECT_EQ(retries.next(partition, offset), std::nullopt);
    EXPECT_EQ(retries.tried(partition, offset), 0);
}

TEST(MessageRetries, AreCountedForEachPartitionAndForOneMessageInIt) {
    MessageRetries retries(1, 1s);
    EXPECT_TRUE(retries.next(partition, offset));
    EXPECT_TRUE(retries.next(Partition{1}, offset));
    EXPECT_FALSE(retries.next(partition, offset));
    EXPECT_TRUE(retries.next(partition, Offset{6}));
    EXPECT_EQ(retries.tried(partition, offset), 0);
}

TEST(MessageRetries, AreForgottenOnceTheFenceIsBehindTheMessage) {
    MessageRetries retries(1, 1s);
    retries.next(partition, offset);
    retries.passed(partition, offset);
    EXPECT_EQ(retries.tried(partition, offset), 1) << "the fence is before it";
    retries.passed(partition, Offset{6});
    EXPECT_EQ(retries.tried(partition, offset), 0);
}

TEST(MessageRetries, OverManyTriesDoNotOverflow) {
    MessageRetries retries(1000, 5min);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(retries.next(partition, offset), 5min);
}

}  // namespace
}  // namespace onceward
