#include "gateway/in_flight.h"

#include <gmock/gmock.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;
using Kind = InFlight::Admission::Kind;
using testing::ElementsAre;
using testing::IsEmpty;

class InFlightTest : public ::testing::Test {
  protected:
    InFlight::Admission admit(const std::string& key, std::chrono::milliseconds wait = 0ms,
                              std::optional<Digest> fingerprint = std::nullopt) {
        return keys_.admit(digest_of_bytes(key), fingerprint, wait, now_);
    }
    InFlight keys_;
    InFlight::Clock::time_point now_{1000h};
};

TEST_F(InFlightTest, TheFirstRunsAndTheOthersAreToldAtOnce) {
    EXPECT_EQ(admit("a").kind, Kind::run);
    EXPECT_EQ(admit("a").kind, Kind::in_flight);
    EXPECT_EQ(admit("b").kind, Kind::run);
    EXPECT_EQ(keys_.running(), 2U);
    EXPECT_THAT(keys_.end(digest_of_bytes("a")), IsEmpty());
    EXPECT_EQ(admit("a").kind, Kind::run);
}

TEST_F(InFlightTest, ThoseWhoWaitGetTheFirstOnesAnswerInTheirOrder) {
    admit("a");
    const auto first = admit("a", 2s), other = admit("b"), second = admit("a", 1s);
    EXPECT_EQ(first.kind, Kind::wait);
    EXPECT_EQ(other.kind, Kind::run);
    EXPECT_THAT(keys_.end(digest_of_bytes("a")), ElementsAre(first.waiter, second.waiter));
    EXPECT_EQ(keys_.next_deadline(), std::nullopt);
    EXPECT_THAT(keys_.overdue(now_ + 1h), IsEmpty());
}

TEST_F(InFlightTest, WhoeverHasWaitedLongEnoughWaitsNoLonger) {
    admit("a");
    admit("b");
    const auto late = admit("a", 2s), early = admit("b", 1s);
    EXPECT_EQ(keys_.next_deadline(), now_ + 1s);
    EXPECT_THAT(keys_.overdue(now_ + 999ms), IsEmpty());
    EXPECT_THAT(keys_.overdue(now_ + 1s), ElementsAre(early.waiter));
    EXPECT_EQ(keys_.next_deadline(), now_ + 2s);
    EXPECT_THAT(keys_.end(digest_of_bytes("b")), IsEmpty());
    EXPECT_THAT(keys_.end(digest_of_bytes("a")), ElementsAre(late.waiter));
}

TEST_F(InFlightTest, AnotherRequestUnderTheKeyWaitsForItsTurnAndIsNoConflictYet) {
    const Digest one = digest_of_bytes("1"), two = digest_of_bytes("2");
    EXPECT_EQ(admit("a", 0ms, one).kind, Kind::run);
    const auto other = admit("a", 1s, two), same = admit("a", 1s, one);
    EXPECT_EQ(other.kind, Kind::behind);
    EXPECT_EQ(same.kind, Kind::wait);
    EXPECT_EQ(admit("a", 0ms, two).kind, Kind::in_flight);
    EXPECT_EQ(admit("a", 0ms).kind, Kind::in_flight);
    EXPECT_THAT(keys_.end(digest_of_bytes("a")), ElementsAre(other.waiter, same.waiter));
    EXPECT_EQ(admit("a", 1s, two).kind, Kind::run);
}

TEST_F(InFlightTest, TheEndOfAKeyThatNobodyHasIsNothing) {
    EXPECT_THAT(keys_.end(digest_of_bytes("a")), IsEmpty());
}

}  // namespace
}  // namespace onceward
