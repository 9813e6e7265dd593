#include <gmock/gmock.h>

#include "gateway/requests/key_turns.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using Kind = KeysInFlight::Admission::Kind;
using testing::ElementsAre;
using testing::IsEmpty;

class KeysInFlightTest : public ::testing::Test {
  protected:
    KeysInFlight::Admission admit(const std::string& key, std::chrono::milliseconds wait = 0ms,
                                  std::optional<Digest> fingerprint = std::nullopt) {
        return keys_.admit(digest_of_bytes(key), fingerprint, wait, now_);
    }
    // Its request is the first one that the ledger has seen.
    std::vector<KeysInFlight::Waiter> original(const std::string& key) {
        return keys_.original(digest_of_bytes(key), now_);
    }
    std::vector<KeysInFlight::Waiter> overdue(KeysInFlight::Clock::time_point now) {
        std::vector<KeysInFlight::Waiter> waiters;
        for (const KeysInFlight::Overdue& one : keys_.overdue(now)) waiters.push_back(one.waiter);
        return waiters;
    }
    KeysInFlight keys_;
    KeysInFlight::Clock::time_point now_{1000h};
};

TEST_F(KeysInFlightTest, TheFirstRunsAndTheOthersAreToldAtOnce) {
    EXPECT_EQ(admit("a").kind, Kind::run);
    EXPECT_THAT(original("a"), IsEmpty());
    EXPECT_EQ(admit("a").kind, Kind::in_flight);
    EXPECT_EQ(admit("b").kind, Kind::run);
    EXPECT_EQ(keys_.running(), 2U);
    EXPECT_THAT(keys_.end(digest_of_bytes("a")), IsEmpty());
    EXPECT_EQ(admit("a").kind, Kind::run);
}

TEST_F(KeysInFlightTest, NobodyIsToldThatARepeatIsInFlight) {
    admit("a");
    const auto hasty = admit("a"), patient = admit("a", 9s), other = admit("b");
    EXPECT_EQ(hasty.kind, Kind::wait);
    EXPECT_EQ(other.kind, Kind::run);
    EXPECT_FALSE(keys_.runs_original(digest_of_bytes("a")));
    EXPECT_THAT(keys_.end(digest_of_bytes("a")), ElementsAre(hasty.waiter, patient.waiter));
    EXPECT_THAT(overdue(now_ + 1h), IsEmpty());
}

TEST_F(KeysInFlightTest, OnceTheLedgerKnowsNothingOfItOnlyThoseWaitWhoSaidSo) {
    admit("a");
    const auto hasty = admit("a"), patient = admit("a", 2s), other = admit("b");
    EXPECT_EQ(keys_.next_deadline(), now_ + 5s);
    EXPECT_THAT(original("a"), ElementsAre(hasty.waiter));
    EXPECT_TRUE(keys_.runs_original(digest_of_bytes("a")));
    EXPECT_EQ(keys_.next_deadline(), now_ + 2s);
    EXPECT_THAT(original("a"), IsEmpty());
    EXPECT_THAT(keys_.end(digest_of_bytes("a")), ElementsAre(patient.waiter));
    EXPECT_EQ(keys_.next_deadline(), never);
    EXPECT_EQ(other.kind, Kind::run);
    EXPECT_THAT(original("never seen"), IsEmpty());
}

TEST_F(KeysInFlightTest, WhoeverWaitsForALedgerThatSaysNothingIsToldThatNobodyKnows) {
    admit("a");
    const auto hasty = admit("a");
    const auto late = keys_.overdue(now_ + 5s);
    ASSERT_EQ(late.size(), 1U);
    EXPECT_EQ(late[0].waiter, hasty.waiter);
    EXPECT_FALSE(late[0].original);
}

TEST_F(KeysInFlightTest, ThoseWhoWaitGetTheFirstOnesAnswerInTheirOrder) {
    admit("a");
    const auto first = admit("a", 2s), other = admit("b"), second = admit("a", 1s);
    EXPECT_EQ(first.kind, Kind::wait);
    EXPECT_EQ(other.kind, Kind::run);
    EXPECT_THAT(keys_.end(digest_of_bytes("a")), ElementsAre(first.waiter, second.waiter));
    EXPECT_EQ(keys_.next_deadline(), never);
    EXPECT_THAT(overdue(now_ + 1h), IsEmpty());
}

TEST_F(KeysInFlightTest, WhoeverHasWaitedLongEnoughWaitsNoLonger) {
    admit("a");
    admit("b");
    original("a");
    original("b");
    const auto late = admit("a", 2s), early = admit("b", 1s);
    EXPECT_EQ(keys_.next_deadline(), now_ + 1s);
    EXPECT_THAT(overdue(now_ + 999ms), IsEmpty());
    EXPECT_THAT(overdue(now_ + 1s), ElementsAre(early.waiter));
    EXPECT_EQ(keys_.next_deadline(), now_ + 2s);
    EXPECT_THAT(keys_.end(digest_of_bytes("b")), IsEmpty());
    EXPECT_THAT(keys_.end(digest_of_bytes("a")), ElementsAre(late.waiter));
}

TEST_F(KeysInFlightTest, AnotherRequestUnderTheKeyWaitsForItsTurnAndIsNoConflictYet) {
    const Digest one = digest_of_bytes("1"), two = digest_of_bytes("2");
    EXPECT_EQ(admit("a", 0ms, one).kind, Kind::run);
    const auto other = admit("a", 1s, two), same = admit("a", 1s, one);
    EXPECT_EQ(other.kind, Kind::behind);
    EXPECT_EQ(same.kind, Kind::wait);
    original("a");
    EXPECT_EQ(admit("a", 0ms, two).kind, Kind::in_flight);
    EXPECT_EQ(admit("a", 0ms).kind, Kind::in_flight);
    EXPECT_THAT(keys_.end(digest_of_bytes("a")), ElementsAre(other.waiter, same.waiter));
    EXPECT_EQ(admit("a", 1s, two).kind, Kind::run);
}

TEST_F(KeysInFlightTest, TheEndOfAKeyThatNobodyHasIsNothing) {
    EXPECT_THAT(keys_.end(digest_of_bytes("a")), IsEmpty());
}

}  // namespace
}  // namespace onceward
