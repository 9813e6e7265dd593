#include "dedup/claims/distinct_claims.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/unit/dedup/messages.h"

namespace onceward::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto fresh = Verdict::fresh;
constexpr auto duplicate = Verdict::duplicate;
constexpr auto conflict = Verdict::conflict;

struct Messages {
    std::vector<Message> owned;
    std::vector<Message*> borrowed;
    explicit Messages(std::vector<Message> messages) : owned(std::move(messages)) {
        for (Message& message : owned) borrowed.push_back(&message);
    }
};

template <class... Keyed>
Messages messages(Keyed... keys) {
    std::vector<Message> all;
    std::int64_t offset = 0;
    for (const int key : {keys...}) {
        all.push_back(message(0, offset++, digest(static_cast<std::uint8_t>(key))));
    }
    return Messages(std::move(all));
}

// Two workers that claimed in the order of their messages would deadlock on opposite orders.
TEST(DistinctClaims, AreSortedByDigestAndHoldEachOnce) {
    const Messages all = messages(9, 200, 3, 9, 3, 128);
    const DistinctClaims folded(all.borrowed);
    std::vector<int> keys;
    for (const Claim& claim : folded.claims()) keys.push_back(claim.digest.bytes[0]);
    EXPECT_THAT(keys, ElementsAre(3, 9, 128, 200));
    EXPECT_EQ(folded.claims()[0].offset, Offset{2}) << "the first message of a key claims";
}

// Random ones, and some that share their first bytes, as UUIDs of one millisecond do.
TEST(DistinctClaims, ThousandsAreSortedToo) {
    std::vector<Message> many;
    std::vector<Digest> expected;
    for (int i = 0; i < 4000; ++i) {
        Digest key = digest_of_bytes(std::to_string(i));
        if (i % 3 == 0) std::fill_n(key.bytes.begin(), 7, std::uint8_t{0x42});
        if (i % 9 == 0) std::fill_n(key.bytes.begin(), 12, std::uint8_t{0x42});
        many.push_back(message(0, i, key));
        expected.push_back(key);
    }
    std::ranges::sort(expected);
    const Messages all(std::move(many));
    const DistinctClaims folded(all.borrowed);
    ASSERT_EQ(folded.claims().size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(folded.claims()[i].digest, expected[i]);
    }
}

TEST(DistinctClaims, AFollowerOfAFreshKeyIsADuplicate) {
    const Messages all = messages(5, 4, 5, 5);
    const DistinctClaims folded(all.borrowed);
    EXPECT_THAT(folded.verdicts(std::vector<ClaimAnswer>{{fresh, {}}, {fresh, {}}}),
                ElementsAre(fresh, fresh, duplicate, duplicate));
}

TEST(DistinctClaims, AHotKeyIsOneClaimHoweverOftenItIsThere) {
    std::vector<Message> hot;
    for (int offset = 0; offset < 100'000; ++offset) hot.push_back(message(0, offset, digest(7)));
    Messages all(std::move(hot));
    const DistinctClaims folded(all.borrowed);
    ASSERT_EQ(folded.claims().size(), 1U);
    EXPECT_EQ(folded.claims()[0].offset, Offset{0});
    const auto verdicts = folded.verdicts(std::vector<ClaimAnswer>{{fresh, {}}});
    EXPECT_EQ(std::count(verdicts.begin(), verdicts.end(), fresh), 1);
    EXPECT_EQ(std::count(verdicts.begin(), verdicts.end(), duplicate), 99'999);
}

TEST(DistinctClaims, AllMessagesOfAKnownKeyAreDuplicates) {
    const Messages all = messages(5, 5);
    const DistinctClaims folded(all.borrowed);
    EXPECT_THAT(folded.verdicts(std::vector<ClaimAnswer>{{duplicate, {}}}),
                ElementsAre(duplicate, duplicate));
}

TEST(DistinctClaims, WhatFollowsALateKeyIsLateWhateverItsFingerprint) {
    Messages all = messages(7, 7, 7);
    all.owned[1].fingerprint = digest(100);
    const DistinctClaims folded(all.borrowed);
    EXPECT_THAT(folded.verdicts(std::vector<ClaimAnswer>{{Verdict::late, {}}}),
                ElementsAre(Verdict::late, Verdict::late, Verdict::late));
}

TEST(DistinctClaims, AFollowerIsJudgedApartIfItsOwnTimeDecidesOtherwise) {
    Messages all = messages(7, 7, 7, 7);
    std::size_t i = 0;
    for (const int second : {5, 4, 5, 6}) {
        all.owned[i++].minted_at = MintedAt(std::chrono::seconds(second));
    }
    const DistinctClaims folded(all.borrowed);
    const auto apart = [&](Verdict verdict, int second) {
        const MintedAt bound{std::chrono::seconds(second)};
        return folded.judged_apart(std::vector<ClaimAnswer>{{verdict, {}, bound}});
    };
    EXPECT_EQ(apart(Verdict::late, 6), 3U) << "the first one within the memory";
    EXPECT_EQ(apart(Verdict::late, 7), std::nullopt) << "all of them are late";
    EXPECT_EQ(apart(Verdict::early, 4), 1U) << "the first one that is not in the future";
    EXPECT_EQ(apart(Verdict::early, 3), std::nullopt) << "all of them are early";
    EXPECT_EQ(apart(fresh, 0), std::nullopt);
    all.owned[1].minted_at.reset();
    EXPECT_EQ(apart(Verdict::late, 7), 1U) << "what has no time is never late";
}

TEST(DistinctClaims, AFollowerWithAnotherFingerprintIsAConflict) {
    Messages all = messages(5, 5, 5);
    all.owned[0].fingerprint = digest(1);
    all.owned[1].fingerprint = digest(2);
    all.owned[2].fingerprint = digest(1);
    const DistinctClaims folded(all.borrowed);
    EXPECT_THAT(folded.verdicts(std::vector<ClaimAnswer>{{fresh, {}}}),
                ElementsAre(fresh, conflict, duplicate));
}

// The effect was made from the earlier claim's payload, so that one is what followers are compared
// with.
TEST(DistinctClaims, FollowersAreComparedWithTheEarlierClaimNotWithTheirNeighbour) {
    Messages all = messages(5, 5, 5);
    all.owned[0].fingerprint = digest(2);
    all.owned[1].fingerprint = digest(2);
    all.owned[2].fingerprint = digest(1);
    const DistinctClaims folded(all.borrowed);
    EXPECT_THAT(folded.verdicts(std::vector<ClaimAnswer>{{conflict, digest(1)}}),
                ElementsAre(conflict, conflict, duplicate));
}

TEST(DistinctClaims, AConflictHasMetTheFirstOfItsSliceOrTheLedgersClaim) {
    Messages all = messages(4, 5, 5);
    all.owned[1].fingerprint = digest(1);
    all.owned[2].fingerprint = digest(2);
    const DistinctClaims folded(all.borrowed);
    const auto here = folded.met(all.owned[2], std::vector<ClaimAnswer>{{fresh, {}}, {fresh, {}}});
    EXPECT_EQ(here.first, &all.owned[1]);
    EXPECT_EQ(here.fingerprint, digest(1));
    const auto there =
        folded.met(all.owned[2], std::vector<ClaimAnswer>{{fresh, {}}, {conflict, digest(3)}});
    EXPECT_EQ(there.first, nullptr);
    EXPECT_EQ(there.fingerprint, digest(3));
}

TEST(DistinctClaims, AMissingFingerprintIsNoConflict) {
    Messages all = messages(5, 5);
    all.owned[1].fingerprint = digest(2);
    const DistinctClaims folded(all.borrowed);
    EXPECT_THAT(folded.verdicts(std::vector<ClaimAnswer>{{fresh, {}}}),
                ElementsAre(fresh, duplicate));
}

// Key bad first and good next: the bad one claims nothing, so the good one is fresh.
TEST(DistinctClaims, RejectedAndSkippedMessagesClaimNothing) {
    Messages all = messages(5, 5, 6);
    all.owned[0].rejection = Rejection{};
    all.owned[2].skipped = true;
    const DistinctClaims folded(all.borrowed);
    ASSERT_EQ(folded.claims().size(), 1U);
    EXPECT_EQ(folded.claims()[0].offset, Offset{1});
    EXPECT_THAT(folded.verdicts(std::vector<ClaimAnswer>{{fresh, {}}}),
                ElementsAre(std::nullopt, fresh, std::nullopt));
}

TEST(DistinctClaims, OfNoMessagesAreNone) {
    const DistinctClaims folded({});
    EXPECT_THAT(folded.claims(), IsEmpty());
    EXPECT_THAT(folded.verdicts({}), IsEmpty());
}

TEST(ClaimOrder, ClaimsAreInOrderIfEachDigestIsAboveTheOneBefore) {
    const auto claims_of = [](std::initializer_list<const char*> keys) {
        std::vector<Claim> claims;
        for (const char* key : keys) claims.push_back({digest_of_bytes(key), {}, {}, {}});
        return claims;
    };
    std::vector<Claim> claims = claims_of({"a", "b", "c"});
    std::ranges::sort(claims, {}, &Claim::digest);
    EXPECT_TRUE(in_claim_order(claims));
    EXPECT_TRUE(in_claim_order({}));
    std::ranges::swap(claims[0], claims[1]);
    EXPECT_FALSE(in_claim_order(claims));
    EXPECT_FALSE(in_claim_order(claims_of({"a", "a"})));
}

}  // namespace
}  // namespace onceward::test
