// A worker that is frozen for longer than its lease begins nothing, whatever its own clock says.

#include "tests/integration/dedup/leases/lease_fixture.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

// Calls a function once, when it is asked how long an effect takes: between the extension of a
// lease and the effect.
struct LateEffects : ScriptedEffects {
    using ScriptedEffects::ScriptedEffects;
    mutable std::function<void()> once;
    std::chrono::milliseconds longest() const override {
        if (const auto now = std::exchange(once, nullptr)) now();
        return ScriptedEffects::longest();
    }
};

class LeaseClockTest : public LeaseTest {
  protected:
    // Another worker takes the key over once its lease has ended.
    void overtake() {
        EXPECT_TRUE(eventually(20s, [&] {
            return leases("state = 'in_flight' AND lease_until < clock_timestamp()") == 1;
        }));
        LeaseWorker(*this, log_, others_).run_all();
    }
    void expect_nothing_begun(LateEffects& late, StepObserver* observer) {
        LeaseWorker slow(*this, log_, late, {.lease = 500ms, .observer = observer});
        slow.start();
        EXPECT_TRUE(slow.run());
        EXPECT_TRUE(late.order.empty()) << "it began under a lease that another one has";
        EXPECT_EQ(lease("a"), "done 2 t");
    }

    ScriptedLog log_{1};
    ScriptedEffects others_{always_done};
};

TEST_F(LeaseClockTest, NothingIsBegunIfTheLeaseEndedBeforeIt) {
    log_.append(0, {.key = "a"});
    LateEffects late(always_done);
    late.once = [&] { overtake(); };
    expect_nothing_begun(late, nullptr);
}

TEST_F(LeaseClockTest, ALeaseIsCountedFromBeforeItWasAskedFor) {
    log_.append(0, {.key = "a"});
    LateEffects late(always_done);
    bool first = true;
    StepHook hook([&](Step step) {
        if (step == Step::after_commit && std::exchange(first, false)) overtake();
    });
    expect_nothing_begun(late, &hook);
}

}  // namespace
}  // namespace onceward::support
