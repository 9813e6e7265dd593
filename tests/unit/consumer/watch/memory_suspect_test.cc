#include "consumer/watch/memory_suspect.h"

#include <gtest/gtest.h>

#include <vector>

namespace onceward {
namespace {

using namespace std::chrono_literals;

class MemorySuspectTest : public testing::Test {
  protected:
    using Open = MemorySuspect::Open;
    static TopicPartition partition(int number) { return {"topic", Partition{number}}; }
    // The suspect's partition, -1 for none.
    int suspect(const std::vector<Open>& open, std::chrono::milliseconds after = 0ms) const {
        const auto found = trail_.suspect(open, now_ + after);
        return found ? found->partition.partition.raw() : -1;
    }

    const MemorySuspect::Clock::time_point now_ = MemorySuspect::Clock::now();
    MemorySuspect trail_{now_};
    static constexpr std::size_t mebibyte = MemorySuspect::large;
};

TEST_F(MemorySuspectTest, ThePartitionThatIsSilentForLongestAlthoughThereIsMoreOfIt) {
    trail_.came(partition(0), 100, Offset{5}, now_ + 3s);
    trail_.came(partition(1), 100, Offset{5}, now_ + 1s);
    trail_.came(partition(2), 100, Offset{5}, now_);
    EXPECT_EQ(suspect({{partition(0), Offset{6}, true},
                       {partition(1), Offset{6}, true},
                       {partition(2), Offset{6}, false}},
                      4s),
              1);
    EXPECT_EQ(suspect({{partition(0), Offset{6}, true}, {partition(3), {}, true}}, 4s), 3)
        << "of which nothing ever came";
}

TEST_F(MemorySuspectTest, NobodyWhereNothingWaits) {
    trail_.came(partition(0), 100, Offset{5}, now_);
    EXPECT_EQ(suspect({{partition(0), Offset{6}, false}}), -1);
    EXPECT_EQ(suspect({}), -1);
}

TEST_F(MemorySuspectTest, ALargeRecordThatHasNotLandedGoesBeforeSilence) {
    trail_.came(partition(0), 3 * mebibyte, Offset{5}, now_);
    trail_.came(partition(1), 9 * mebibyte, Offset{5}, now_);
    const std::vector<Open> open{{partition(0), Offset{5}, false},
                                 {partition(1), Offset{5}, false},
                                 {partition(2), Offset{0}, true}};
    EXPECT_EQ(suspect(open), 1);
    EXPECT_EQ(trail_.suspect(open, now_)->record, Offset{5});
    EXPECT_EQ(suspect(open, 11s), 2) << "that was long ago";
}

TEST_F(MemorySuspectTest, ALargeRecordThatHasLandedIsForgotten) {
    trail_.came(partition(0), 3 * mebibyte, Offset{5}, now_);
    EXPECT_EQ(suspect({{partition(0), Offset{6}, false}}), -1);
}

}  // namespace
}  // namespace onceward
