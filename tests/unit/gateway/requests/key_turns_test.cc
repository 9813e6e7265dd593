#include "gateway/requests/key_turns.h"

#include <gmock/gmock.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using Places = std::vector<std::size_t>;

// Requests are known by their place.
class KeyTurnsTest : public ::testing::Test {
  protected:
    // Whether the request is to be carried out now.
    bool runs(const std::string& key, std::size_t place = 0, std::chrono::milliseconds wait = 0ms,
              std::optional<Digest> fingerprint = std::nullopt) {
        KeyedRequest request;
        request.digest = digest_of_bytes(key);
        request.fingerprint = fingerprint;
        return turns_
            .admit({.asking = {nullptr, place}, .request = std::move(request), .arrived = now_},
                   wait, now_, told_)
            .has_value();
    }
    // Those that were told that the key is in flight.
    Places in_flight() {
        Places places;
        for (const auto& [asking, outcome] : std::exchange(told_, {})) {
            const auto* answer = std::get_if<KeyedAnswer>(outcome.get());
            EXPECT_TRUE(answer != nullptr && answer->state == KeyState::in_flight);
            places.push_back(asking.place);
        }
        return places;
    }
    // The key's request is the first one that the ledger has seen. Returns those that were told.
    Places original(const std::string& key) {
        turns_.original(digest_of_bytes(key), now_, told_);
        return in_flight();
    }
    // Returns those that got the answer.
    Places end(const std::string& key, KeyTurns::Clock::time_point as_of = never) {
        ToldLater told;
        next_.clear();
        for (const auto& turn : turns_.end(digest_of_bytes(key), KeyedAnswer{}, as_of, told)) {
            EXPECT_EQ(turn.request.digest, digest_of_bytes(key));
            next_.push_back(turn.asking.place);
        }
        Places places;
        for (const auto& [asking, outcome] : told) {
            EXPECT_EQ(std::get<KeyedAnswer>(*outcome).state, KeyState::fresh);
            places.push_back(asking.place);
        }
        return places;
    }
    Places late(KeyTurns::Clock::time_point now) {
        Places places;
        for (const auto& [asking, outcome] : turns_.late(now)) places.push_back(asking.place);
        return places;
    }
    KeyTurns turns_;
    ToldLater told_;
    Places next_;  // those whose turn it is after the last end()
    KeyTurns::Clock::time_point now_{1000h};
};

TEST_F(KeyTurnsTest, TheFirstRunsAndTheOthersAreToldAtOnce) {
    EXPECT_TRUE(runs("a", 1));
    EXPECT_THAT(original("a"), IsEmpty());
    EXPECT_FALSE(runs("a", 2));
    EXPECT_THAT(in_flight(), ElementsAre(2));
    EXPECT_TRUE(runs("b", 3));
    EXPECT_TRUE(turns_.runs(digest_of_bytes("a")));
    EXPECT_TRUE(turns_.runs(digest_of_bytes("b")));
    EXPECT_THAT(end("a"), IsEmpty());
    EXPECT_FALSE(turns_.runs(digest_of_bytes("a")));
    EXPECT_TRUE(runs("a", 4));
}

TEST_F(KeyTurnsTest, NobodyIsToldThatARepeatIsInFlight) {
    runs("a");
    EXPECT_FALSE(runs("a", 1));
    EXPECT_FALSE(runs("a", 2, 9s));
    EXPECT_TRUE(runs("b"));
    EXPECT_THAT(in_flight(), IsEmpty());
    EXPECT_FALSE(turns_.runs_original(digest_of_bytes("a")));
    EXPECT_THAT(end("a"), ElementsAre(1, 2));
    EXPECT_THAT(late(now_ + 1h), IsEmpty());
}

TEST_F(KeyTurnsTest, OnceTheLedgerKnowsNothingOfItOnlyThoseWaitWhoSaidSo) {
    runs("a");
    EXPECT_FALSE(runs("a", 1));
    EXPECT_FALSE(runs("a", 2, 2s));
    EXPECT_TRUE(runs("b"));
    EXPECT_EQ(turns_.next_deadline(), now_ + 5s);
    EXPECT_THAT(original("a"), ElementsAre(1));
    EXPECT_TRUE(turns_.runs_original(digest_of_bytes("a")));
    EXPECT_EQ(turns_.next_deadline(), now_ + 2s);
    EXPECT_THAT(original("a"), IsEmpty());
    EXPECT_THAT(end("a"), ElementsAre(2));
    EXPECT_EQ(turns_.next_deadline(), never);
    EXPECT_THAT(original("never seen"), IsEmpty());
}

TEST_F(KeyTurnsTest, WhoeverWaitsForALedgerThatSaysNothingIsToldThatNobodyKnows) {
    runs("a");
    runs("a", 1);
    const ToldLater late = turns_.late(now_ + 5s);
    ASSERT_EQ(late.size(), 1U);
    EXPECT_EQ(late[0].asking.place, 1U);
    EXPECT_EQ(std::get<Problem>(*late[0].outcome).kind, ProblemKind::unavailable);
}

TEST_F(KeyTurnsTest, ThoseWhoWaitGetTheFirstOnesAnswerInTheirOrder) {
    runs("a");
    EXPECT_FALSE(runs("a", 1, 2s));
    EXPECT_TRUE(runs("b"));
    EXPECT_FALSE(runs("a", 2, 1s));
    EXPECT_THAT(end("a"), ElementsAre(1, 2));
    EXPECT_THAT(next_, IsEmpty());
    EXPECT_EQ(turns_.next_deadline(), never);
    EXPECT_THAT(late(now_ + 1h), IsEmpty());
}

// A thousand items of a bulk may repeat one key, and its answer may be large.
TEST_F(KeyTurnsTest, ThoseWhoWaitShareOneAnswerUntilTheyAreTold) {
    runs("a");
    std::vector<KeyedOutcome> got;
    const auto then = std::make_shared<const RequestTarget::Then>(
        [&](std::size_t, KeyedOutcome outcome) { got.push_back(std::move(outcome)); });
    for (const std::size_t place : {1U, 2U}) {
        KeyedRequest request;
        request.digest = digest_of_bytes("a");
        turns_.admit({.asking = {then, place}, .request = std::move(request), .arrived = now_}, 2s,
                     now_, told_);
    }
    turns_.end(digest_of_bytes("a"), KeyedAnswer{.result = {.body = "large"}}, never, told_);
    ASSERT_EQ(told_.size(), 2U);
    EXPECT_EQ(told_[0].outcome, told_[1].outcome);
    tell(told_);
    ASSERT_EQ(got.size(), 2U);
    EXPECT_EQ(std::get<KeyedAnswer>(got[0]).result.body, "large");
    EXPECT_EQ(std::get<KeyedAnswer>(got[1]).result.body, "large");
}

TEST_F(KeyTurnsTest, OnlyThoseWhoWaitForAnotherAreCounted) {
    runs("a");
    EXPECT_EQ(turns_.waiting(), 0U);
    runs("a", 1);
    runs("a", 2, 1s);
    runs("b", 3);
    EXPECT_EQ(turns_.waiting(), 2U);
    original("a");
    EXPECT_EQ(turns_.waiting(), 1U);
    late(now_ + 1s);
    EXPECT_EQ(turns_.waiting(), 0U);
    runs("a", 4, 1s);
    end("a");
    EXPECT_EQ(turns_.waiting(), 0U);
}

TEST_F(KeyTurnsTest, WhoeverHasWaitedLongEnoughWaitsNoLonger) {
    runs("a");
    runs("b");
    original("a");
    original("b");
    runs("a", 1, 2s);
    runs("b", 2, 1s);
    EXPECT_EQ(turns_.next_deadline(), now_ + 1s);
    EXPECT_THAT(late(now_ + 999ms), IsEmpty());
    told_ = turns_.late(now_ + 1s);
    EXPECT_THAT(in_flight(), ElementsAre(2));
    EXPECT_EQ(turns_.next_deadline(), now_ + 2s);
    EXPECT_THAT(end("b"), IsEmpty());
    EXPECT_THAT(end("a"), ElementsAre(1));
}

TEST_F(KeyTurnsTest, AnotherRequestUnderTheKeyWaitsForItsTurnAndIsNoConflictYet) {
    const Digest one = digest_of_bytes("1"), two = digest_of_bytes("2");
    EXPECT_TRUE(runs("a", 0, 0ms, one));
    EXPECT_FALSE(runs("a", 1, 1s, two));
    EXPECT_FALSE(runs("a", 2, 1s, one));
    original("a");
    EXPECT_FALSE(runs("a", 3, 0ms, two));
    EXPECT_FALSE(runs("a", 4, 0ms));
    EXPECT_THAT(in_flight(), ElementsAre(3, 4));
    EXPECT_THAT(end("a"), ElementsAre(2));
    EXPECT_THAT(next_, ElementsAre(1));
    EXPECT_TRUE(runs("a", 1, 1s, two));
}

// Nothing is stored of a refusal, so that a corrected request passes under the same key.
TEST_F(KeyTurnsTest, WithoutAFingerprintARefusalIsOnlyForTheSameRequest) {
    const auto request_of = [](const std::string& target, const std::string& body) {
        KeyedRequest request;
        request.request = {"POST", target, {}, body};
        request.digest = digest_of_bytes("a");
        return request;
    };
    const auto admit = [&](std::size_t place, KeyedRequest request) {
        KeyTurns::Turn turn{
            .asking = {nullptr, place}, .request = std::move(request), .arrived = now_};
        EXPECT_EQ(turns_.admit(std::move(turn), 9s, now_, told_).has_value(), place == 0);
    };
    const KeyedRequest bad = request_of("/orders/1", "bad");
    admit(0, bad);
    admit(1, request_of("/orders/1", "good"));
    admit(2, bad);
    admit(3, request_of("/orders/2", "bad"));
    const auto next =
        turns_.end(bad.digest, Problem{.kind = ProblemKind::rejected}, never, told_, &bad.request);
    ASSERT_EQ(told_.size(), 1U);
    EXPECT_EQ(told_[0].asking.place, 2U);
    ASSERT_EQ(next.size(), 2U);
    EXPECT_EQ(next[0].asking.place, 1U);
    EXPECT_EQ(next[1].asking.place, 3U);
}

TEST_F(KeyTurnsTest, WhoeverCameAfterTheDatabaseWasAskedIsNotToldItsAnswer) {
    runs("a");
    EXPECT_FALSE(runs("a", 1, 9s));
    const auto asked = now_;
    now_ += 1ms;
    EXPECT_FALSE(runs("a", 2, 9s));
    EXPECT_FALSE(runs("a", 3, 9s));
    EXPECT_THAT(end("a", asked), ElementsAre(1));
    EXPECT_THAT(next_, ElementsAre(2, 3));
    EXPECT_TRUE(runs("a", 2, 9s));
}

// Its five seconds for the ledger begin once, however often it waits.
TEST_F(KeyTurnsTest, WhoeverWaitsForAnotherTurnIsToldNoLaterThanInTheFirst) {
    runs("a");
    EXPECT_FALSE(runs("a", 1));
    const auto arrived = now_;
    now_ += 4s;
    EXPECT_THAT(end("a", arrived - 1ms), IsEmpty());
    EXPECT_THAT(next_, ElementsAre(1));
    EXPECT_TRUE(runs("a", 2));
    KeyedRequest request;
    request.digest = digest_of_bytes("a");
    turns_.admit({.asking = {nullptr, 1}, .request = std::move(request), .arrived = arrived}, 0ms,
                 now_, told_);
    EXPECT_EQ(turns_.next_deadline(), arrived + 5s);
}

TEST_F(KeyTurnsTest, TheEndOfAKeyThatNobodyHasIsNothing) { EXPECT_THAT(end("a"), IsEmpty()); }

}  // namespace
}  // namespace onceward
