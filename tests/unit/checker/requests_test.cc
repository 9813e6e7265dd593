// I17 on made-up evidence: each rule reports where it is broken, and nothing where it holds.

#include <gmock/gmock.h>

#include <sstream>

#include "tests/faults/checker/produced_list.h"
#include "tests/unit/checker/run_model.h"

namespace onceward::checker {
namespace {

const std::string key_reused = "/onceward/problems/key-reused";

// Three keys: one with two bodies, one whose first answer was lost, one that nothing came of.
class Requests : public ::testing::Test {
  protected:
    Requests() {
        sent("k", "1", 200).effect = 7;
        sent("k", "1", 200, true).effect = 7;
        sent("k", "2", 422).problem = key_reused;
        sent("l", "1", 0);
        sent("l", "1", 409);
        sent("l", "1", 503);
        sent("l", "1", 204, true);
        sent("m", "1", 0);
        evidence_.request_effects = {{.number = 7, .key = "k", .body = "1", .transaction = 100},
                                     {.number = 8, .key = "l", .body = "1", .transaction = 101}};
        evidence_.request_claims = {{.ledger = 1, .digest = "aa", .transaction = 100},
                                    {.ledger = 1, .digest = "bb", .transaction = 101}};
        evidence_.stored_answers = {{.ledger = 1, .digest = "aa", .transaction = 100, .effect = 7},
                                    {.ledger = 1, .digest = "bb", .transaction = 101}};
    }
    Request& sent(const std::string& key, const std::string& body, int status,
                  bool replayed = false) {
        evidence_.requests.push_back(
            {.key = key, .body = body, .status = status, .replayed = replayed});
        return evidence_.requests.back();
    }
    void take_effect(const std::string& key, const std::string& body) {
        evidence_.request_effects.push_back(
            {.number = 9, .key = key, .body = body, .transaction = 102});
        evidence_.request_claims.push_back({.ledger = 1, .digest = "cc", .transaction = 102});
        evidence_.stored_answers.push_back({.ledger = 1, .digest = "cc", .transaction = 102});
    }
    bool found(const std::string& part) const { return holds(judge(evidence_), "I17", part); }
    bool clean() const { return judge(evidence_).violations.empty(); }

    Evidence evidence_;
};

TEST_F(Requests, NothingIsFoundWhereEachKeyHasOneEffectOneClaimAndOneAnswer) {
    EXPECT_TRUE(clean());
    EXPECT_EQ(judge(evidence_).numbers.requests, 8);
}

TEST_F(Requests, AKeyThatNobodyWasToldOfMayHaveAnEffectOrNone) {
    take_effect("m", "1");
    EXPECT_TRUE(clean());
}

TEST_F(Requests, ASecondEffectIsFoundAndCounted) {
    take_effect("k", "1");
    EXPECT_TRUE(found("more than once"));
    EXPECT_EQ(judge(evidence_).numbers.twice, 1);
    EXPECT_EQ(judge(evidence_).numbers.lost, 0);
}

TEST_F(Requests, EffectsThatNobodyAskedForAreFound) {
    take_effect("n", "1");
    EXPECT_TRUE(found("a key took effect that no request had"));
    evidence_.request_effects.back() = {.number = 9, .key = "m", .body = "5", .transaction = 102};
    EXPECT_TRUE(found("a body took effect that no request of its key had"));
}

TEST_F(Requests, AnEffectOfABodyThatWasAnsweredWithAConflictAloneIsFound) {
    sent("o", "1", 0);
    sent("o", "2", 422).problem = key_reused;
    take_effect("o", "2");
    EXPECT_TRUE(found("a conflict alone"));
    sent("o", "2", 0);
    EXPECT_TRUE(clean()) << "the one without an answer may have taken effect";
}

TEST_F(Requests, ASuccessWithoutAnEffectIsFoundAndCounted) {
    evidence_.request_effects.pop_back();
    EXPECT_TRUE(found("its key took no effect"));
    EXPECT_TRUE(found("none took effect"));
    EXPECT_EQ(judge(evidence_).numbers.lost, 1);
}

TEST_F(Requests, AKeyWhoseBodiesAllMetAConflictIsFound) {
    sent("o", "1", 422).problem = key_reused;
    sent("o", "2", 422).problem = key_reused;
    EXPECT_TRUE(found("none took effect"));
    sent("o", "3", 503);
    EXPECT_TRUE(clean()) << "the third one's way is open";
}

TEST_F(Requests, ASuccessToAnotherBodyIsFound) {
    evidence_.requests[1].body = "2";
    EXPECT_TRUE(found("another body"));
}

TEST_F(Requests, AnswersThatDifferAreFound) {
    evidence_.requests[1].answer = "another";
    EXPECT_TRUE(found("answers of a key differ"));
    evidence_.requests[1].answer.clear();
    evidence_.requests[1].status = 201;
    EXPECT_TRUE(found("answers of a key differ"));
}

TEST_F(Requests, ASecondAnswerThatIsNotMarkedAsReplayedIsFound) {
    evidence_.requests[1].replayed = false;
    EXPECT_TRUE(found("they are the first"));
}

TEST_F(Requests, AnAnswerThatTellsOfAnotherEffectIsFound) {
    evidence_.requests[0].effect = 8;
    EXPECT_TRUE(found("another effect than its key's"));
}

TEST_F(Requests, AConflictWithNothingAndAnAnswerThatMayNotBeAreFound) {
    sent("l", "1", 422).problem = key_reused;
    EXPECT_TRUE(found("one body alone"));
    evidence_.requests.back().problem = "/onceward/problems/rejected";
    EXPECT_TRUE(found("may get"));
    evidence_.requests.back().status = 410;
    EXPECT_TRUE(found("may get"));
}

TEST_F(Requests, ClaimsAndEffectsOfATransactionThatAreNotAsManyAreFound) {
    evidence_.request_claims[1].transaction = evidence_.stored_answers[1].transaction = 100;
    EXPECT_TRUE(found("did not claim them"));
    EXPECT_TRUE(found("without their effects"));
}

TEST_F(Requests, AKeyThatIsClaimedTwiceIsFound) {
    evidence_.request_claims[1].digest = "aa";
    EXPECT_TRUE(found("has two claims"));
}

TEST_F(Requests, AnswersThatAreNotStoredWithTheirClaimsAreFound) {
    evidence_.stored_answers[1].transaction = 100;
    EXPECT_TRUE(found("no stored answer of its transaction"));
    evidence_.stored_answers[1] = {.ledger = 1, .digest = "dd", .transaction = 101};
    EXPECT_TRUE(found("a stored answer has no claim"));
}

TEST_F(Requests, StoredAnswersThatTellOfAnothersEffectAreFound) {
    evidence_.stored_answers[1].effect = 7;
    EXPECT_TRUE(found("not of its transaction"));
    EXPECT_TRUE(found("tell of one effect"));
}

TEST(RequestList, TellsWhatWasSentAndWhatCameBack) {
    std::istringstream lines(
        R"({"k":"charges/a-9","b":"1"}
{"k":"charges/a-9","b":"1","s":200,"r":true,"a":"{\"effect\": 17}"}
{"k":"charges/a-9","b":"2","s":422,"a":"{\"type\": \"/onceward/problems/key-reused\"}"}
{"k":"charges/a-9","b)");
    Evidence evidence;
    read_requests(lines, evidence);
    ASSERT_EQ(evidence.requests.size(), 3U);
    EXPECT_EQ(evidence.requests[0].key, "charges/a-9");
    EXPECT_EQ(evidence.requests[0].status, 0);
    EXPECT_FALSE(evidence.requests[0].replayed);
    EXPECT_TRUE(evidence.requests[1].replayed);
    EXPECT_EQ(evidence.requests[1].effect, 17);
    EXPECT_EQ(evidence.requests[1].answer, R"({"effect": 17})");
    EXPECT_EQ(evidence.requests[2].body, "2");
    EXPECT_EQ(evidence.requests[2].problem, key_reused);
}

}  // namespace
}  // namespace onceward::checker
