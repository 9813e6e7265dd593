#include "consumer/watch/worker_activity.h"

#include <gtest/gtest.h>

#include <numeric>

namespace onceward {
namespace {

class WorkerActivityTest : public testing::Test {
  protected:
    void pass(std::initializer_list<Step> steps) {
        for (const Step step : steps) activity_.reached(step);
    }
    // How many transactions had this part.
    std::int64_t count(TransactionPart part) const {
        const auto counts = activity_.counts().parts.at(static_cast<std::size_t>(part)).counts;
        return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    }
    double seconds_of_parts() const {
        double sum = 0;
        for (const TransactionTimes& part : activity_.counts().parts) sum += part.sum;
        return sum;
    }
    WorkerActivity activity_{{"orders", "visits"}, nullptr};
};

TEST_F(WorkerActivityTest, ThePartsOfATransactionAreItsWholeDuration) {
    pass({Step::before_begin, Step::after_fence, Step::after_claims, Step::after_sink,
          Step::before_commit, Step::after_commit});
    for (std::size_t i = 0; i < transaction_parts; ++i) {
        EXPECT_EQ(count(static_cast<TransactionPart>(i)), 1);
    }
    EXPECT_GT(activity_.counts().durations.sum, 0);
    EXPECT_NEAR(seconds_of_parts(), activity_.counts().durations.sum, 1e-9);
}

TEST_F(WorkerActivityTest, ATransactionThatWasNotCommittedHasNoParts) {
    pass({Step::before_begin, Step::after_fence, Step::after_claims});
    pass({Step::before_begin, Step::after_fence, Step::before_commit, Step::after_commit});
    EXPECT_EQ(count(TransactionPart::claims), 0) << "of the attempt before";
    EXPECT_EQ(count(TransactionPart::fence), 1);
    EXPECT_EQ(count(TransactionPart::commit), 1);
    EXPECT_EQ(count(TransactionPart::sink), 0);
}

TEST_F(WorkerActivityTest, ATransactionInOneRoundTripIsAllCommitAndItsRepetitionIsCounted) {
    const auto send = [this] {
        pass({Step::before_begin, Step::after_fence, Step::after_claims, Step::after_sink,
              Step::before_commit, Step::sent_whole});
    };
    send();
    pass({Step::before_begin, Step::after_commit});
    EXPECT_EQ(activity_.counts().round_trips.repeated, 1);
    EXPECT_EQ(activity_.counts().round_trips.landed, 0) << "the second try had steps";
    send();
    pass({Step::after_commit});
    EXPECT_EQ(activity_.counts().round_trips.landed, 1);
    for (const auto part : {TransactionPart::fence, TransactionPart::claims, TransactionPart::sink,
                            TransactionPart::settle}) {
        EXPECT_EQ(count(part), 0) << to_text(part);
    }
    EXPECT_EQ(count(TransactionPart::commit), 2);
    EXPECT_NEAR(seconds_of_parts(), activity_.counts().durations.sum, 1e-9);
}

// It is in doubt: nobody knows whether it has landed.
TEST_F(WorkerActivityTest, ARoundTripWhoseSessionWasLostIsNeitherLandedNorRepeated) {
    for (const bool lost : {true, false}) {
        pass({Step::before_begin, Step::sent_whole});
        if (lost) activity_.connection_lost(PostgresError({.connection_lost = true}));
        if (!lost) activity_.idle();
        pass({Step::before_begin, Step::after_commit});
    }
    EXPECT_EQ(activity_.counts().round_trips.landed, 0);
    EXPECT_EQ(activity_.counts().round_trips.repeated, 0);
}

TEST_F(WorkerActivityTest, AgesAreCountedByTopicAndEachTopicIsThereFromTheStart) {
    LatencyHistogram ages;
    ages.observe(3, 7);
    activity_.aged("orders", ages);
    activity_.aged("orders", ages);
    WorkerCounts counts = activity_.counts();
    EXPECT_EQ(counts.latencies.size(), 2U);
    EXPECT_EQ(counts.latencies["orders"].sum, 42);
    EXPECT_EQ(counts.latencies["visits"].sum, 0);
    counts += activity_.counts();
    EXPECT_EQ(counts.latencies["orders"].sum, 84);
}

TEST_F(WorkerActivityTest, RebalancesAreCountedByKind) {
    activity_.rebalanced(&RebalanceCounts::assigned);
    activity_.rebalanced(&RebalanceCounts::assigned);
    activity_.rebalanced(&RebalanceCounts::lost);
    WorkerCounts counts = activity_.counts();
    counts += activity_.counts();
    EXPECT_EQ(counts.rebalances.assigned, 4);
    EXPECT_EQ(counts.rebalances.revoked, 0);
    EXPECT_EQ(counts.rebalances.lost, 2);
}

}  // namespace
}  // namespace onceward
