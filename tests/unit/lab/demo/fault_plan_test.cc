#include "lab/demo/fault_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace onceward::demo {
namespace {

using std::chrono::milliseconds;

FaultPlanOptions options(std::uint64_t seed, std::int64_t messages) {
    return {.seed = seed, .messages = messages, .workers = 3, .session_end = milliseconds{3'000}};
}

TEST(FaultPlan, KillsAndFreezesInEqualNumberWithinTheRun) {
    for (const std::int64_t messages : {100, 2'000, 200'000, 10'000'000}) {
        const std::vector<Fault> faults = plan_faults(options(1, messages));
        const auto kills = std::count_if(faults.begin(), faults.end(), [](const Fault& fault) {
            return fault.kind == Fault::Kind::kill;
        });
        EXPECT_GT(kills, 0);
        EXPECT_EQ(kills * 2, static_cast<std::ptrdiff_t>(faults.size()));
        std::int64_t last = -1;
        for (const Fault& fault : faults) {
            EXPECT_GT(fault.at, last);
            EXPECT_LT(fault.at, messages);
            EXPECT_GE(fault.worker, 0);
            EXPECT_LT(fault.worker, 3);
            last = fault.at;
        }
    }
}

TEST(FaultPlan, SomeFreezesOutlastTheSession) {
    const std::vector<Fault> faults = plan_faults(options(1, 200'000));
    const auto freezes = [&](bool lasting) {
        return std::count_if(faults.begin(), faults.end(), [&](const Fault& fault) {
            return fault.kind == Fault::Kind::freeze &&
                   (fault.duration > milliseconds{3'000}) == lasting;
        });
    };
    EXPECT_GE(freezes(true), 2);
    EXPECT_GE(freezes(false), 2);
}

TEST(FaultPlan, TheSeedDecidesEverything) {
    const auto same = [](const Fault& one, const Fault& other) {
        return one.kind == other.kind && one.worker == other.worker && one.at == other.at &&
               one.duration == other.duration;
    };
    const auto one = plan_faults(options(1, 200'000));
    const auto again = plan_faults(options(1, 200'000));
    const auto other = plan_faults(options(2, 200'000));
    EXPECT_TRUE(std::equal(one.begin(), one.end(), again.begin(), again.end(), same));
    EXPECT_FALSE(std::equal(one.begin(), one.end(), other.begin(), other.end(), same));
}

}  // namespace
}  // namespace onceward::demo
