// A key that comes too often: its first messages continue, the others go to the dead letters.

#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

class HotKeyTest : public CoreTest, public ::testing::WithParamInterface<std::size_t> {
  protected:
    CoreWorkerOptions most_four() {
        CoreWorkerOptions hot = options();
        hot.policy.hot_key = {.most = 4, .within = std::chrono::seconds(60)};
        hot.batch_messages = GetParam();
        return hot;
    }
    void append_copies(int count) {
        for (int i = 0; i < count; ++i) {
            log_.append(0, {.key = "hot", .record_key = "K", .timestamp = std::chrono::hours(1)});
        }
    }
    std::int64_t hot_letters() {
        return database().number("SELECT count(*) FROM dead_letters WHERE error_class = 'hot_key'");
    }
    ScriptedLog log_{1};
};

TEST_P(HotKeyTest, TheFirstOnesGoOnAndFurtherCopiesAreDeadLetters) {
    append_copies(6);
    append_keys(log_, 0, "other", 3);
    append_copies(4);
    CoreWorker worker(log_, sink_, most_four());
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(worker.totals, (Totals{.applied = 4, .duplicates = 3, .dead_lettered = 6}));
    EXPECT_EQ(hot_letters(), 6);
    expect_no_violations(log_, {.some_rejected = true});
}

TEST_P(HotKeyTest, TheyDoNotCountForTheCapAndHoldNobodyUp) {
    append_copies(50);
    CoreWorkerOptions strict = most_four();
    strict.policy.order = RejectPolicy::Order::by_key;
    strict.policy.cap_share = 0.1;
    strict.policy.cap_minimum = 1;
    CoreWorker first(log_, sink_, strict);
    ASSERT_TRUE(first.run());
    EXPECT_EQ(hot_letters(), 46);
    log_.append(0, {.key = "next", .record_key = "K"});
    CoreWorker later(log_, sink_, strict);
    ASSERT_TRUE(later.run());
    EXPECT_EQ(effects("key = 'next'"), 1);
    expect_no_violations(log_, {.some_rejected = true});
}

TEST_P(HotKeyTest, WhatIsHaltedForARejectIsHaltedForThem) {
    append_copies(6);
    CoreWorkerOptions halting = most_four();
    halting.policy.action = RejectPolicy::Action::halt;
    CoreWorker worker(log_, sink_, halting);
    const auto halted = halt_of(worker);
    ASSERT_TRUE(halted);
    EXPECT_EQ(halted->offset, Offset{4});
    EXPECT_EQ(fence(0), 4);
}

INSTANTIATE_TEST_SUITE_P(Batches, HotKeyTest, ::testing::Values(1U, 3U, 2000U));

}  // namespace
}  // namespace onceward::support
