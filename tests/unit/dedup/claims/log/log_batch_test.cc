#include "dedup/claims/log/log_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/dedup/messages.h"

namespace onceward {
namespace {

using test::digest;

std::vector<Digest> sorted(const std::vector<int>& keys) {
    std::vector<Digest> digests;
    for (const int key : keys) digests.push_back(digest(key));
    std::ranges::sort(digests);
    return digests;
}

bool meet(const std::vector<Digest>& mine, const std::vector<Digest>& theirs) {
    return may_meet(mine, {.seq = 1, .digests = theirs, .fingerprints = {}});
}

TEST(LogBatchMeeting, EachKeyThatBothClaimIsFound) {
    const std::vector<Digest> mine = sorted({1, 2, 3, 4, 5, 6, 7, 8, 9});
    for (int key = 1; key <= 9; ++key) {
        EXPECT_TRUE(meet(mine, sorted({20, 21, key, 22, 23}))) << key;
        EXPECT_TRUE(meet(sorted({20, 21, key, 22, 23}), mine)) << key;
    }
}

TEST(LogBatchMeeting, BatchesWithoutACommonKeyDoNotMeet) {
    EXPECT_FALSE(meet(sorted({1, 2, 3}), sorted({4, 5, 6})));
    EXPECT_FALSE(meet(sorted({4}), sorted({1, 2, 3, 5, 6})));
    EXPECT_FALSE(meet({}, sorted({1})));
    EXPECT_FALSE(meet(sorted({1}), {}));
}

// A walk through both would pass a key that is out of its order.
TEST(LogBatchMeeting, ABatchThatIsNotSortedMeetsEverything) {
    std::vector<Digest> theirs = sorted({1, 2, 3});
    std::ranges::reverse(theirs);
    EXPECT_TRUE(meet(sorted({4}), theirs));
}

}  // namespace
}  // namespace onceward
