#include "consumer/kafka/range_reader.h"

#include <gtest/gtest.h>

#include <vector>

namespace onceward {
namespace {

struct Damage {
    std::int64_t begin;
    std::int64_t end;
};

// A log up to `end` in which these batches are damaged; counts the questions.
class DamagedLog {
  public:
    DamagedLog(std::int64_t end, std::vector<Damage> damaged)
        : end_(end), damaged_(std::move(damaged)) {}
    std::int64_t behind(std::int64_t begin) {
        const auto found = next_readable(Offset{begin}, Offset{end_}, [&](Offset offset) {
            ++questions;
            for (const Damage& batch : damaged_) {
                if (batch.begin <= offset.raw() && offset.raw() < batch.end) {
                    return LogSight{LogSight::Kind::unreadable, Offset{batch.begin}};
                }
            }
            const auto kind =
                offset.raw() < end_ ? LogSight::Kind::record : LogSight::Kind::end_of_log;
            return LogSight{kind, offset};
        });
        return found ? found->raw() : -1;
    }
    int questions = 0;

  private:
    std::int64_t end_;
    std::vector<Damage> damaged_;
};

TEST(NextReadable, IsTheEndOfTheBatchWhereverItIsEntered) {
    for (std::int64_t begin = 50; begin < 60; ++begin) {
        EXPECT_EQ(DamagedLog(1000, {{50, 60}}).behind(begin), 60) << begin;
    }
}

TEST(NextReadable, NeverPassesAGoodBatchBetweenTwoDamagedOnes) {
    for (std::int64_t length = 1; length < 40; ++length) {
        for (std::int64_t gap = 1; gap < 20; ++gap) {
            const std::int64_t end = 50 + length;
            DamagedLog log(1000, {{50, end}, {end + gap, end + gap + 70}});
            EXPECT_EQ(log.behind(50), end) << length << " " << gap;
        }
    }
}

TEST(NextReadable, DamagedBatchesInARowAreAllPassed) {
    EXPECT_EQ(DamagedLog(1000, {{50, 60}, {60, 75}, {75, 76}}).behind(50), 76);
}

TEST(NextReadable, IsTheEndOfTheLogWhereNothingBehindCanBeRead) {
    EXPECT_EQ(DamagedLog(60, {{50, 60}}).behind(50), 60);
    EXPECT_EQ(DamagedLog(51, {{50, 60}}).behind(50), 51);
}

TEST(NextReadable, IsWhereItBeginsIfThatCanBeRead) {
    EXPECT_EQ(DamagedLog(1000, {{50, 60}}).behind(49), 49);
    EXPECT_EQ(DamagedLog(1000, {}).behind(1000), 1000);
}

TEST(NextReadable, AsksLittleOfALargeBatch) {
    DamagedLog log(1'000'000, {{50, 500'000}});
    EXPECT_EQ(log.behind(50), 500'000);
    EXPECT_LT(log.questions, 45);
}

TEST(NextReadable, GivesUpWhereTheBatchesCannotBeToldApart) {
    const auto found = next_readable(Offset{0}, Offset{100'000}, [](Offset offset) {
        return LogSight{LogSight::Kind::unreadable, offset};
    });
    EXPECT_FALSE(found);
}

}  // namespace
}  // namespace onceward
