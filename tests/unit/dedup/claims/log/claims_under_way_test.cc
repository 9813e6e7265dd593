
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "dedup/claims/log/log_window.h"
#include "dedup/claims/table_store.h"
#include "tests/unit/dedup/messages.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using test::digest;

// A transaction's claims, as its store lists them.
struct Listed {
    std::vector<Claim> claims;
    std::vector<ClaimAnswer> answers;
    LogAppend append;
    Reliance reliance;
    std::uint64_t number = 0;

    Listed(ClaimsUnderWay& under_way, const std::vector<int>& keys,
           std::optional<Digest> fingerprint = std::nullopt, bool relies = true) {
        for (const int key : keys) {
            claims.push_back({digest(key), fingerprint, Partition{0}, Offset{0}});
        }
        std::ranges::sort(claims, {}, &Claim::digest);
        answers.resize(claims.size());
        number = under_way.begin(claims, answers, append, relies ? &reliance : nullptr);
    }
    std::size_t fresh() const {
        return static_cast<std::size_t>(
            std::ranges::count(answers, Verdict::fresh, &ClaimAnswer::verdict));
    }
};

TEST(ClaimsUnderWay, WhatAnotherIsAboutToClaimIsADuplicateToWhoComesLater) {
    ClaimsUnderWay under_way;
    const Listed first(under_way, {1, 2, 3, 7});
    const Listed second(under_way, {2, 3, 4});
    const Listed third(under_way, {3, 4, 5});
    EXPECT_EQ(first.fresh(), 4);
    EXPECT_EQ(second.fresh(), 1);
    EXPECT_EQ(second.append.digests().size(), 1);
    EXPECT_EQ(second.reliance.claims.size(), 2);
    EXPECT_EQ(third.fresh(), 1);
    EXPECT_EQ(third.reliance.transactions, (std::vector{first.number, second.number}));
}

TEST(ClaimsUnderWay, WhatHasEndedIsReliedUponNoMore) {
    ClaimsUnderWay under_way;
    const Listed first(under_way, {1});
    under_way.end(first.number);
    const Listed second(under_way, {1});
    EXPECT_EQ(second.fresh(), 1);
    EXPECT_TRUE(second.reliance.transactions.empty());
}

TEST(ClaimsUnderWay, WhoDoesNotRelyPresumesItsOwn) {
    ClaimsUnderWay under_way;
    const Listed first(under_way, {1});
    const Listed second(under_way, {1}, std::nullopt, false);
    EXPECT_EQ(second.fresh(), 1);
}

// A conflict is told of what is committed, and so is done again once that is known.
TEST(ClaimsUnderWay, AnotherFingerprintIsNotReliedUpon) {
    ClaimsUnderWay under_way;
    const Listed first(under_way, {1}, digest(100));
    const Listed same(under_way, {1}, digest(100));
    const Listed other(under_way, {1}, digest(101));
    EXPECT_EQ(same.answers[0].verdict, Verdict::duplicate);
    EXPECT_EQ(other.fresh(), 1);
    EXPECT_TRUE(other.reliance.transactions.empty());
}

TEST(ClaimsUnderWay, WaitsForTheEndAndNoLongerThanItsLimit) {
    ClaimsUnderWay under_way;
    const Listed first(under_way, {1});
    const Listed second(under_way, {1});
    EXPECT_FALSE(under_way.wait(second.reliance.transactions, 10ms));
    std::thread ends([&] { under_way.end(first.number); });
    EXPECT_TRUE(under_way.wait(second.reliance.transactions, 20s));
    ends.join();
}

TEST(LogWindow, HoldsWhatWasReliedUponOnlyWithItsFingerprint) {
    LogWindow window;
    const Digest key = digest(1), fingerprint = digest(100);
    const Reliance::OnClaim same{key, fingerprint}, other{key, digest(101)}, none{key, {}};
    EXPECT_FALSE(window.holds({&same, 1}));
    const LogBatch batch{1, {&key, 1}, {&fingerprint, 1}};
    window.take_in(1, {&batch, 1});
    EXPECT_TRUE(window.holds({&same, 1}));
    EXPECT_FALSE(window.holds({&other, 1}));
    EXPECT_FALSE(window.holds({&none, 1}));
}

TEST(NewKeysPresumption, BatchesAreDoneWithCautionAfterAWrongOneAndTwiceAsManyAfterTheNext) {
    NewKeysPresumption presumption;
    const auto cautious = [&] {
        int batches = 0;
        while (!presumption.presumes_new()) ++batches;
        return batches;
    };
    EXPECT_EQ(cautious(), 0);
    presumption.was_wrong();
    EXPECT_EQ(cautious(), 2);
    presumption.was_wrong();
    EXPECT_EQ(cautious(), 4);
    for (int i = 0; i < 20; ++i) presumption.was_wrong();
    EXPECT_EQ(cautious(), NewKeysPresumption::longest_caution);
    presumption.was_right();
    presumption.was_wrong();
    EXPECT_EQ(cautious(), 2);
}

TEST(NewKeysPresumption, AWrongBatchIsForgottenAfterSoManyRightOnesInARow) {
    NewKeysPresumption presumption(3);
    const auto caution_after = [&](int rights) {
        for (int i = 0; i < rights; ++i) presumption.was_right();
        presumption.was_wrong();
        int batches = 0;
        while (!presumption.presumes_new()) ++batches;
        return batches;
    };
    EXPECT_EQ(caution_after(0), 2);
    EXPECT_EQ(caution_after(2), 4);
    EXPECT_EQ(caution_after(2), 8);
    EXPECT_EQ(caution_after(3), 2);
}

}  // namespace
}  // namespace onceward
