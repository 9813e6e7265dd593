// What becomes of each message of a slice by the ledger's verdicts and the topic's policy.

#include "dedup/policy/slice_outcomes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/dedup/messages.h"

namespace onceward::test {
namespace {

using ::testing::ElementsAre;
using OnConflict = RejectPolicy::OnConflict;

// One partition: a fresh message, a rejected one, a duplicate and a conflict with the first.
struct Scene {
    std::vector<Message> owned;
    Slice slice{{}, {span(0, 0, 4)}};
    std::vector<std::optional<Verdict>> verdicts{Verdict::fresh, std::nullopt, Verdict::duplicate,
                                                 Verdict::conflict};
    KeyOrder order;

    Scene() {
        for (int offset = 0; offset < 4; ++offset) {
            owned.push_back(message(0, offset, digest(1)));
            owned.back().fingerprint = digest(100);
        }
        owned[1].rejection = Rejection{Rejection::Kind::undecodable, "no", "", 1};
        owned[3].fingerprint = digest(101);
        for (Message& each : owned) slice.messages.push_back(&each);
    }
    SliceOutcomes sort(const RejectPolicy& policy) {
        return sort_slice(slice, verdicts, policy, order, {});
    }
};

RejectPolicy policy(std::optional<OnConflict> on_conflict,
                    RejectPolicy::Action action = RejectPolicy::Action::dead_letter) {
    RejectPolicy policy;
    policy.action = action;
    policy.on_conflict = on_conflict;
    return policy;
}

const Totals each_counted{.applied = 1, .duplicates = 1, .conflicts = 1, .dead_lettered = 1};

TEST(SliceOutcomes, AKeyThatCannotBeJudgedIsRejectedForThisAttemptAlone) {
    Scene scene;
    scene.verdicts = {Verdict::late, std::nullopt, Verdict::early, Verdict::duplicate};
    {
        const SliceOutcomes sorted = scene.sort(policy({}));
        EXPECT_THAT(sorted.fresh, testing::IsEmpty());
        EXPECT_EQ(sorted.moves[0].totals, (Totals{.duplicates = 1, .dead_lettered = 3}));
        EXPECT_EQ(scene.owned[0].rejection->kind, Rejection::Kind::late_key);
        EXPECT_EQ(scene.owned[2].rejection->kind, Rejection::Kind::invalid_key);
    }
    EXPECT_FALSE(scene.owned[0].rejection.has_value());
    EXPECT_FALSE(scene.owned[2].rejection.has_value());
}

TEST(SliceOutcomes, AConflictIsRejectedForThisAttemptAlone) {
    Scene scene;
    {
        const SliceOutcomes sorted = scene.sort(policy(OnConflict::dead_letter));
        EXPECT_THAT(sorted.fresh, ElementsAre(&scene.owned[0]));
        EXPECT_THAT(sorted.rejected, ElementsAre(&scene.owned[1], &scene.owned[3]));
        EXPECT_EQ(sorted.moves[0].totals, each_counted);
        EXPECT_EQ(scene.owned[3].rejection->kind, Rejection::Kind::conflict);
    }
    EXPECT_FALSE(scene.owned[3].rejection.has_value());
    EXPECT_TRUE(scene.owned[1].rejection.has_value());
}

TEST(SliceOutcomes, AnIgnoredConflictIsCountedAndNoDeadLetter) {
    Scene scene;
    const SliceOutcomes sorted = scene.sort(policy(OnConflict::ignore));
    EXPECT_THAT(sorted.rejected, ElementsAre(&scene.owned[1]));
    EXPECT_THAT(sorted.conflicts, ElementsAre(&scene.owned[3]));
    EXPECT_EQ(sorted.moves[0].totals, each_counted);
    EXPECT_FALSE(scene.owned[3].rejection.has_value());
}

TEST(SliceOutcomes, ThePolicyHaltsAtTheFirstMessageThatItNames) {
    using Action = RejectPolicy::Action;
    const auto halts = [](const RejectPolicy& policy) {
        Scene scene;
        const SliceOutcomes sorted = scene.sort(policy);
        return halts_at(scene.slice, policy);
    };
    EXPECT_EQ(halts(policy(std::nullopt)), std::nullopt);
    EXPECT_EQ(halts(policy(OnConflict::ignore)), std::nullopt);
    EXPECT_EQ(halts(policy(OnConflict::halt)), 3U);
    EXPECT_EQ(halts(policy(std::nullopt, Action::halt)), 1U);
    Scene scene;
    scene.owned[1].rejection.reset();
    scene.verdicts[1] = Verdict::duplicate;
    const SliceOutcomes sorted = scene.sort(policy(std::nullopt, Action::halt));
    EXPECT_EQ(halts_at(scene.slice, policy(std::nullopt, Action::halt)), 3U) << "as `on_reject`";
    EXPECT_EQ(halts_at(scene.slice, policy(OnConflict::dead_letter, Action::halt)), std::nullopt);
}

TEST(SliceOutcomes, AFurtherCopyOfAHotKeyIsNoFaultAndHoldsNobodyUp) {
    Scene scene;
    scene.owned[1].rejection->kind = Rejection::Kind::hot_key;
    for (Message& each : scene.owned) each.record.key = "K";
    scene.verdicts[2] = Verdict::fresh;
    RejectPolicy by_key = policy(OnConflict::ignore);
    by_key.order = RejectPolicy::Order::by_key;
    const SliceOutcomes sorted = scene.sort(by_key);
    EXPECT_THAT(sorted.hot, ElementsAre(&scene.owned[1]));
    EXPECT_THAT(sorted.rejected, ElementsAre(&scene.owned[1]));
    EXPECT_EQ(sorted.at_fault(), 0);
    EXPECT_THAT(sorted.fresh, ElementsAre(&scene.owned[0], &scene.owned[2]));
    EXPECT_FALSE(sorted.again);
}

TEST(SliceOutcomes, AConflictSaysWhatItMetWhereThatIsInTheSlice) {
    Scene scene;
    const DistinctClaims folded(scene.slice.messages);
    const std::vector<ClaimAnswer> here{{Verdict::fresh, {}}};
    const std::vector<ClaimAnswer> there{{Verdict::duplicate, digest(100)}};
    SliceOutcomes sorted = scene.sort(policy(OnConflict::dead_letter));
    tell_conflicts(sorted, folded, here, {"group", "topic"});
    const EarlierClaim* earlier = scene.owned[3].rejection->earlier;
    ASSERT_NE(earlier, nullptr);
    EXPECT_EQ(earlier->fingerprint, digest(100));
    EXPECT_THAT(earlier->places,
                ElementsAre(ClaimPlace{"group", "topic", Partition{0}, Offset{0}, Offset{0}}));
    tell_conflicts(sorted, folded, there, {"group", "topic"});
    EXPECT_TRUE(scene.owned[3].rejection->earlier->places.empty()) << "the ledger's to say";
}

// Its row would be written without being encoded.
TEST(SliceOutcomes, ADeferredMessageThatIsSkippedOrBadHoldsNoClaim) {
    for (const bool skips : {true, false}) {
        Scene scene;
        scene.owned[0].deferred = true;
        const FinishMessage finish = [&](Message& message) {
            message.deferred = false;
            message.skipped = skips;
            if (!skips) message.rejection = Rejection{Rejection::Kind::undecodable, "no", "", 1};
        };
        const SliceOutcomes sorted =
            sort_slice(scene.slice, scene.verdicts, policy({}), scene.order, finish);
        EXPECT_TRUE(sorted.again);
        EXPECT_THAT(sorted.fresh, testing::IsEmpty());
        EXPECT_EQ(sorted.moves[0].totals.applied, 0);
    }
}

}  // namespace
}  // namespace onceward::test
