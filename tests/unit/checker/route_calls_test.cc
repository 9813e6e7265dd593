// I9 and I17 of routes to an upstream, on made-up evidence: each rule speaks where it is broken,
// and nothing where it holds.

#include <gmock/gmock.h>

#include <sstream>

#include "tests/faults/checker/produced_list.h"
#include "tests/unit/checker/run_model.h"

namespace onceward::checker {
namespace {

// One key with two bodies that was called twice, one that was refused for good, one in the dark.
class RouteCalls : public ::testing::Test {
  protected:
    RouteCalls() {
        asked("k", "1", 503);
        asked("k", "1", 504).problem = "/onceward/problems/upstream-unanswered";
        asked("k", "1", 200);
        asked("k", "1", 200, true);
        asked("k", "2", 422).problem = "/onceward/problems/key-reused";
        asked("l", "1", 404, true);
        asked("l", "1", 0);
        asked("m", "1", 409).problem = "/onceward/problems/key-in-flight";
        called("k", "K", 503);
        called("k", "K", 0);
        called("k", "K", 200);
        called("l", "L", 404);
    }
    Request& asked(const std::string& key, const std::string& body, int status,
                   bool replayed = false) {
        evidence_.requests.push_back(
            {.key = key, .body = body, .status = status, .replayed = replayed, .called = true});
        return evidence_.requests.back();
    }
    RouteCall& called(const std::string& request, const std::string& key, int status) {
        evidence_.route_calls.push_back(
            {.request = request, .body = "1", .key = key, .status = status});
        return evidence_.route_calls.back();
    }
    bool found(const std::string& invariant, const std::string& part) const {
        return holds(judge(evidence_), invariant, part);
    }

    Evidence evidence_;
};

TEST_F(RouteCalls, NothingIsFoundWhereEachKeyHasOneKeyOfItsOwnAndOneAnswer) {
    EXPECT_TRUE(judge(evidence_).violations.empty());
    EXPECT_EQ(judge(evidence_).numbers.requests, 8);
    EXPECT_EQ(judge(evidence_).numbers.lost, 0);
    EXPECT_EQ(judge(evidence_).numbers.twice, 0);
}

TEST_F(RouteCalls, ASecondKeyOnACallIsFoundAndCounted) {
    evidence_.route_calls[2].key = "M";
    EXPECT_TRUE(found("I9", "carry different keys"));
    EXPECT_EQ(judge(evidence_).numbers.twice, 1);
}

TEST_F(RouteCalls, AKeyThatTwoShareIsFound) {
    evidence_.route_calls[3].key = "K";
    EXPECT_TRUE(found("I9", "carry the same key"));
}

TEST_F(RouteCalls, ACallThatNobodyAskedForIsFound) {
    called("n", "N", 200);
    EXPECT_TRUE(found("I9", "what no request had"));
    evidence_.route_calls.back().request = "m";
    EXPECT_TRUE(judge(evidence_).violations.empty());
    evidence_.route_calls.back().body = "5";
    EXPECT_TRUE(found("I9", "what no request had"));
}

TEST_F(RouteCalls, ACallWithAnotherBodyIsFound) {
    evidence_.route_calls[0].body = "2";
    EXPECT_TRUE(found("I17", "two bodies"));
}

TEST_F(RouteCalls, AnAnswerThatNoCallGotIsFoundAndCounted) {
    evidence_.route_calls[2].status = 0;
    EXPECT_TRUE(found("I17", "no call of its key got"));
    EXPECT_EQ(judge(evidence_).numbers.lost, 1);
}

TEST_F(RouteCalls, AnAnswerToAnotherBodyIsFound) {
    evidence_.requests[3].body = "2";
    EXPECT_TRUE(found("I17", "another body"));
}

TEST_F(RouteCalls, AnswersThatDifferAndASecondFirstOneAreFound) {
    evidence_.requests[3].answer = "another";
    EXPECT_TRUE(found("I17", "differ"));
    evidence_.requests[3].replayed = false;
    EXPECT_TRUE(found("I17", "they are the first"));
}

TEST_F(RouteCalls, AConflictWithNothingAndAnAnswerThatMayNotBeAreFound) {
    asked("l", "1", 422).problem = "/onceward/problems/key-reused";
    EXPECT_TRUE(found("I17", "with one body alone"));
    // The upstream honours the key, so that none is left in doubt.
    asked("m", "1", 409).problem = "/onceward/problems/outcome-unknown";
    EXPECT_TRUE(found("I17", "may get here"));
}

TEST(ListOfRouteCalls, TellsWhoseCallEachWas) {
    std::istringstream calls(R"({"q":"calls/a-1","b":"2","k":"0d9c","w":"worker-1","at":17,"s":200}
{"id":17,"k":"0d9d","w":"worker-1","at":17,"s":200}
)");
    std::istringstream requests(R"({"k":"calls/a-1","b":"2","u":true}
{"k":"charges/a-2","b":"1"}
)");
    Evidence evidence;
    read_calls(calls, evidence);
    read_requests(requests, evidence);
    ASSERT_EQ(evidence.route_calls.size(), 1U);
    EXPECT_EQ(evidence.calls.size(), 1U);
    EXPECT_EQ(evidence.route_calls[0].request, "calls/a-1");
    EXPECT_EQ(evidence.route_calls[0].body, "2");
    EXPECT_EQ(evidence.route_calls[0].key, "0d9c");
    EXPECT_EQ(evidence.route_calls[0].status, 200);
    EXPECT_TRUE(evidence.requests[0].called);
    EXPECT_FALSE(evidence.requests[1].called);
}

}  // namespace
}  // namespace onceward::checker
