#include "tests/faults/checker/evidence.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <ctime>
#include <limits>

#include "tests/unit/checker/run_model.h"

namespace onceward::checker {
namespace {

using testing::IsEmpty;

TEST(Log, ComesFromTheProducedListWithAbortedMessagesAsGaps) {
    std::vector<ProducedMessage> produced(4);
    produced[0] = {.id = 1, .place = {0, 2, 5}};
    produced[1] = {.id = 2, .place = {0, 2, 4}};
    produced[2] = {.id = 3, .place = {0, 2, 6}, .aborted = true};
    produced[3] = {.id = 4, .place = {1, 0, -1}};
    const auto logs = log_of(produced, {{{0, 2}, 8}});
    ASSERT_EQ(logs.size(), 1u);
    EXPECT_EQ(logs[0].name, (PartitionName{0, 2}));
    EXPECT_EQ(logs[0].end, 8);
    ASSERT_EQ(logs[0].records.size(), 2u);
    EXPECT_EQ(logs[0].records[0].id, 2u);
    EXPECT_EQ(logs[0].records[1].offset, 5);
}

// Processor time of one judgement in seconds, the least of three: what else the machine does is not
// in it.
double seconds_to_judge(int messages) {
    RunModel run({{.name = "payments"}});
    for (int i = 0; i < messages; ++i) {
        run.produce({0, i % 8}, Nature::good,
                    "a key of some length " + std::to_string(i % (messages * 7 / 10)));
    }
    run.pass_all(500);
    std::clock_t least = std::numeric_limits<std::clock_t>::max();
    for (int round = 0; round < 3; ++round) {
        const std::clock_t begin = std::clock();
        const Verdict verdict = judge(run.evidence);
        least = std::min(least, std::clock() - begin);
        EXPECT_THAT(verdict.violations, IsEmpty());
        EXPECT_EQ(verdict.numbers.applied, messages * 7 / 10);
    }
    return static_cast<double>(least) / CLOCKS_PER_SEC;
}

TEST(ManyMessages, AreJudgedInTimeThatGrowsAsTheyDo) {
    const double few = seconds_to_judge(10'000);
    // With a loop within a loop it would be sixty-four times.
    EXPECT_LT(seconds_to_judge(80'000), 24 * few);
}

}  // namespace
}  // namespace onceward::checker
