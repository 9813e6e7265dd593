// I9 on made-up runs: each rule reports where it is broken, and nothing where it holds.

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/unit/checker/run_model.h"

namespace onceward::checker {
namespace {

constexpr std::int64_t lease_us = 1'000'000;

// Each key was claimed by worker-1, called 10 us later, and done after 20.
class CallsUnderLeases : public ::testing::Test {
  protected:
    CallsUnderLeases() {
        for (int i = 0; i < 8; ++i) {
            run_.produce({0, i % 2}, Nature::good, "key " + std::to_string(i % 6));
        }
        run_.pass_all(2);
        evidence_.effects.clear();
        for (const Claim& claim : evidence_.claims) make(claim);
    }
    void make(const Claim& claim) {
        const std::int64_t at = 10'000'000 + 1000 * static_cast<std::int64_t>(leases().size());
        leases().push_back({.ledger = claim.ledger,
                            .digest = claim.digest,
                            .place = claim.place,
                            .state = LeaseState::done,
                            .attempts = 1});
        const auto sequence = static_cast<std::int64_t>(moves().size()) * 10;
        LeaseMove move{.sequence = sequence,
                       .ledger = claim.ledger,
                       .digest = claim.digest,
                       .session = 11,
                       .worker = "worker-1",
                       .claimed = true,
                       .new_owner = "one",
                       .old_until_us = at + lease_us,
                       .new_until_us = at + lease_us,
                       .at_us = at};
        moves().push_back(move);
        move.sequence += 10;
        move.claimed = false;
        move.old_owner = "one";
        move.new_state = LeaseState::done;
        move.at_us += 20;
        moves().push_back(move);
        const auto message =
            std::ranges::find(evidence_.produced, claim.place, &ProducedMessage::place);
        calls().push_back({.message = message->id,
                           .key = "downstream " + claim.digest,
                           .worker = "worker-1",
                           .at_us = at + 10,
                           .status = 200});
    }
    std::vector<Lease>& leases() { return evidence_.leases; }
    std::vector<LeaseMove>& moves() { return evidence_.lease_moves; }
    std::vector<Call>& calls() { return evidence_.calls; }
    // The first key's claim, end and call.
    LeaseMove& claim() { return moves()[0]; }
    LeaseMove& end() { return moves()[1]; }
    Call& call() { return calls()[0]; }

    // One more change of the first key, so long after its claim.
    LeaseMove& change(std::int64_t after_us) {
        LeaseMove move = claim();
        move.sequence += after_us < 20 ? 5 : 15;
        move.claimed = false;
        move.old_owner = move.new_owner;
        move.at_us += after_us;
        moves().push_back(move);
        return moves().back();
    }
    Call& call_again(std::int64_t after_us) {
        leases()[0].attempts = 2;
        Call again = call();
        again.at_us = claim().at_us + after_us;
        calls().push_back(again);
        return calls().back();
    }
    // The first worker is frozen; its lease runs out after 3 us, and another takes it after 5.
    void take_over() {
        LeaseMove& taken = change(5);
        taken.claimed = true;
        taken.session = 22;
        taken.worker = "worker-2";
        taken.new_owner = "two";
        taken.old_until_us = claim().at_us + 3;
        claim().new_until_us = claim().old_until_us = taken.old_until_us;
        end().old_owner = end().new_owner = "two";
        end().session = 22;
        end().worker = "worker-2";
        call_again(8).worker = "worker-2";
    }
    LeaseMove& taken() { return moves().back(); }
    // The first key's call is refused for good: its end and a dead letter of its message are
    // written in one transaction, and the fence counts it so.
    void fail() {
        const Place place = evidence_.claims.front().place;
        evidence_.claims.erase(evidence_.claims.begin());
        leases()[0].state = end().new_state = LeaseState::failed;
        call().status = 422;
        end().transaction = 4242;
        evidence_.dead_letters.push_back({.place = place,
                                          .transaction = 4242,
                                          .identity = "topic",
                                          .has_timestamp = true,
                                          .error_class = "sink",
                                          .reason = "422",
                                          .attempts = 1});
        const auto count = [](Totals& totals) {
            --totals.applied;
            ++totals.dead_lettered;
        };
        count(std::ranges::find(evidence_.fences, place.in(), &Fence::name)->totals);
        for (FenceMove& move : evidence_.moves) {
            const bool over = move.name == place.in() && move.old_next <= place.offset &&
                              place.offset < move.new_next;
            if (over) count(move.counted);
        }
    }
    bool found(const std::string& part) { return holds(judge(evidence_), "I9", part); }
    std::vector<std::string> violations() {
        std::vector<std::string> texts;
        for (const Violation& violation : judge(evidence_).violations)
            texts.push_back(violation.invariant + " " + violation.text);
        return texts;
    }

    RunModel run_{std::vector<TopicSettings>{{.name = "payments", .leases = true}}};
    Evidence& evidence_ = run_.evidence;
};

TEST_F(CallsUnderLeases, NothingIsFoundWhereEachKeyWasCalledUnderItsLease) {
    ASSERT_EQ(calls().size(), 6U);
    EXPECT_THAT(violations(), testing::IsEmpty());
    call_again(12).status = 0;
    EXPECT_THAT(violations(), testing::IsEmpty()) << "a second try was written down";
}

TEST_F(CallsUnderLeases, AFrozenOwnersCallAfterItsLeaseIsNoViolation) {
    take_over();
    EXPECT_THAT(violations(), testing::IsEmpty());
    call().at_us = end().at_us + 5;
    EXPECT_THAT(violations(), testing::IsEmpty()) << "nor when the other one has done it";
}

TEST_F(CallsUnderLeases, WhoLetsGoLeavesTheKeyToNobodyAndNobodyElseMay) {
    LeaseMove& gone = change(5);
    gone.new_owner = "00000000-0000-0000-0000-000000000000";
    gone.new_until_us = gone.at_us;
    LeaseMove& again = change(7);
    again.claimed = true;
    again.old_owner = gone.new_owner;
    again.old_until_us = gone.at_us;
    again.sequence += 1;
    EXPECT_THAT(violations(), testing::IsEmpty());
    moves()[moves().size() - 2].session = 22;
    EXPECT_TRUE(found("not its owner's"));
}

TEST_F(CallsUnderLeases, ALeaseTakenWhileItWasInForceIsFound) {
    take_over();
    taken().old_until_us = taken().at_us + 1;
    EXPECT_TRUE(found("while it was in force"));
}

TEST_F(CallsUnderLeases, AnEndWrittenByAStaleOwnerIsFound) {
    take_over();
    end().session = claim().session;
    EXPECT_TRUE(found("not its owner's"));
}

TEST_F(CallsUnderLeases, AKeyThatIsClaimedAfterItsEndIsFound) {
    LeaseMove& again = change(30);
    again.claimed = true;
    again.old_state = LeaseState::done;
    EXPECT_TRUE(found("changed after it had ended"));
}

TEST_F(CallsUnderLeases, AKeyInFlightAtTheEndIsFound) {
    leases()[0].state = LeaseState::in_flight;
    EXPECT_TRUE(found("in flight, and all has been passed"));
}

TEST_F(CallsUnderLeases, ADoneKeyWithoutAnAnsweredCallIsFound) {
    call().status = 503;
    EXPECT_TRUE(found("no call of it was answered"));
    calls().erase(calls().begin());
    EXPECT_TRUE(found("no call of it was answered"));
}

TEST_F(CallsUnderLeases, MoreCallsThanRecordedTriesAreFound) {
    call_again(12);
    leases()[0].attempts = 1;
    EXPECT_TRUE(found("more often than its tries"));
}

TEST_F(CallsUnderLeases, ACallAfterTheEndIsFound) {
    call_again(30);
    EXPECT_TRUE(found("again after it was done"));
}

TEST_F(CallsUnderLeases, ACallWithoutAClaimIsFound) {
    call().worker = "worker-3";
    EXPECT_TRUE(found("who had no claim"));
    call().worker = "worker-1";
    call().at_us = claim().at_us - 1;
    EXPECT_TRUE(found("who had no claim"));
}

TEST_F(CallsUnderLeases, ACallUnderALeaseThatWasLetGoIsFound) {
    LeaseMove& released = change(5);
    released.new_until_us = released.at_us;
    EXPECT_TRUE(found("who had no claim"));
}

TEST_F(CallsUnderLeases, KeysThatGoAlongAreOneForEachKey) {
    call_again(12).key = "another";
    EXPECT_TRUE(found("carry different keys"));
    calls().pop_back();
    calls()[1].key = calls()[0].key;
    EXPECT_TRUE(found("carry the same key"));
}

TEST_F(CallsUnderLeases, ACallForAMessageThatNobodyMayReadIsFound) {
    call_again(12).message = 9999;
    EXPECT_TRUE(found("no committed message"));
}

TEST_F(CallsUnderLeases, AKeyThatIsRefusedForGoodHasADeadLetterAndIsNotLost) {
    fail();
    EXPECT_THAT(violations(), testing::IsEmpty());
    EXPECT_EQ(judge(evidence_).numbers.lost, 0);
    EXPECT_EQ(judge(evidence_).numbers.dead_letters, 1);
}

TEST_F(CallsUnderLeases, AFailedKeyThatNobodyHasRefusedIsFound) {
    fail();
    for (const int passing : {200, 0, 503, 429}) {
        call().status = passing;
        EXPECT_TRUE(found("no call of it was refused")) << passing;
    }
}

TEST_F(CallsUnderLeases, AFailedKeyWithoutItsDeadLetterIsFound) {
    fail();
    end().transaction = 4243;
    EXPECT_TRUE(found("from different transactions"));
    evidence_.dead_letters.clear();
    EXPECT_TRUE(found("without a dead letter"));
}

TEST_F(CallsUnderLeases, ADeadLetterOfAMessageWhoseKeyIsDoneIsFound) {
    fail();
    leases()[0].state = LeaseState::done;
    EXPECT_TRUE(holds(judge(evidence_), "I1", "dead letter"));
}

// I1 and I6 are judged by the rows of leases, as there are no others.
TEST_F(CallsUnderLeases, AKeyThatWasPassedAndNotDoneIsFound) {
    evidence_.claims.pop_back();
    const Verdict verdict = judge(evidence_);
    EXPECT_TRUE(holds(verdict, "I1", "has no effect"));
    EXPECT_EQ(verdict.numbers.lost, 1);
}

}  // namespace
}  // namespace onceward::checker
