#include "tests/faults/checker/evidence.h"

#include <gmock/gmock.h>

#include <chrono>

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

TEST(ManyMessages, AreJudgedInAFractionOfASecond) {
    RunModel run({{.name = "payments"}});
    for (int i = 0; i < 100'000; ++i) {
        run.produce({0, i % 8}, Nature::good, "a key of some length " + std::to_string(i % 70'000));
    }
    run.pass_all(500);
    const auto begin = std::chrono::steady_clock::now();
    const Verdict verdict = judge(run.evidence);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_THAT(verdict.violations, IsEmpty());
    EXPECT_EQ(verdict.numbers.applied, 70'000);
    RecordProperty("seconds", std::to_string(took.count()));
    EXPECT_LT(took.count(), 5.0);  // it takes a tenth of that where nothing runs beside it
}

}  // namespace
}  // namespace onceward::checker
