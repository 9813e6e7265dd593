// I8, and what retention excuses in I1 and I6.

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/unit/checker/run_model.h"

namespace onceward::checker {
namespace {

using testing::IsEmpty;

// The claims of the first messages are gone by retention; a second generation has the rest.
class Retention : public ::testing::Test {
  protected:
    static constexpr std::int64_t second_us = 1'000'000;

    Retention() {
        evidence_.settings.retention_us = 10 * second_us;
        for (int i = 0; i < 20; ++i) run_.produce({0, i % 2}, Nature::good, std::to_string(i));
        run_.pass_all(5);
        run_.clock_us() += second_us;
        drop_.sealed_us = run_.clock_us();
        evidence_.claims.clear();
        run_.clock_us() += 20 * second_us;
        for (int i = 20; i < 30; ++i) run_.produce({0, i % 2}, Nature::good, std::to_string(i));
        drop_.ledger = 1;
        drop_.generation = 1;
        drop_.dropped_us = run_.clock_us();
        for (const Fence& fence : evidence_.fences) drop_.fences[fence.name] = fence.next_offset;
        run_.pass_all(5);
        evidence_.generations = {{.ledger = 1, .generation = 2}};
    }
    Verdict verdict() {
        evidence_.drops = {drop_};
        return judge(evidence_);
    }

    RunModel run_{{{.name = "payments"}}};
    Evidence& evidence_ = run_.evidence;
    GenerationDrop drop_;
};

TEST_F(Retention, MayDropWhatNoMessageCanNeed) { EXPECT_THAT(verdict().violations, IsEmpty()); }

TEST_F(Retention, I8FindADropWhileAMessageOfTheWindowWaits) {
    // It was there within the window, and the fence had not passed it yet.
    evidence_.produced[22].acknowledged_us = drop_.sealed_us + 9 * second_us;
    EXPECT_TRUE(holds(verdict(), "I8", "a message that could need it"));
    evidence_.produced[22].acknowledged_us = drop_.sealed_us + 11 * second_us;
    EXPECT_THAT(verdict().violations, IsEmpty());
}
TEST_F(Retention, I8FindADropThatNoClockAllows) {
    drop_.dropped_us = drop_.sealed_us + 9 * second_us;
    EXPECT_TRUE(holds(verdict(), "I8", "by any clock"));
}
TEST_F(Retention, I8FindAClaimThatIsGoneWithinTheRetention) {
    // Sealed by a time of another clock: the claim was seconds old.
    drop_.sealed_us += 12 * second_us;
    for (FenceMove& move : evidence_.moves) {
        if (move.at_us < drop_.sealed_us) move.at_us = drop_.sealed_us - second_us;
    }
    EXPECT_TRUE(holds(verdict(), "I8", "within the retention"));
}
TEST_F(Retention, I8FindAMissingGenerationWhereNoRetentionEnds) {
    evidence_.settings.retention_us.reset();
    EXPECT_TRUE(holds(judge(evidence_), "I8", "longer than the run"));
}
TEST_F(Retention, I6FindsAClaimThatNoDropExplains) {
    evidence_.claims.pop_back();
    EXPECT_TRUE(holds(verdict(), "I6", "an effect has no claim"));
}

TEST_F(Retention, AllowsAKeyAgainBehindTheWindowAndNotWithinIt) {
    ProducedMessage& again = evidence_.produced[25];
    again.key = evidence_.produced[0].key;
    for (Effect& effect : evidence_.effects) {
        if (effect.id == again.id) effect.key = again.key;
    }
    EXPECT_THAT(verdict().violations, IsEmpty());
    again.acknowledged_us = evidence_.produced[0].acknowledged_us + second_us;
    EXPECT_TRUE(holds(verdict(), "I1", "more than one effect"));
}

}  // namespace
}  // namespace onceward::checker
