// I10 on made-up runs: each rule reports where it is broken, and nothing where it holds.

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/unit/checker/run_model.h"

namespace onceward::checker {
namespace {

class Outbox : public ::testing::Test {
  protected:
    Outbox() {
        for (int i = 0; i < 12; ++i) {
            run_.produce({0, i % 2}, Nature::good, "key " + std::to_string(i % 8));
        }
        run_.pass_all(2);
        for (const Effect& effect : evidence_.effects) publish(effect.id);
    }
    // A copy of that message's record, after all others.
    void publish(std::uint64_t message) {
        const std::string& key = evidence_.produced[message - 1].key;
        evidence_.published.push_back(
            {.offset = static_cast<std::int64_t>(evidence_.published.size()),
             .message = message,
             .id = "id of " + key,
             .key = "account"});
    }
    std::uint64_t duplicate() const {
        const auto found = std::ranges::find_if(evidence_.produced, [&](const auto& message) {
            return std::ranges::find(evidence_.effects, message.id, &Effect::id) ==
                   evidence_.effects.end();
        });
        return found->id;
    }
    // The first two records that were made of messages of one partition.
    std::pair<PublishedRecord&, PublishedRecord&> neighbours() {
        const auto partition = [&](const PublishedRecord& record) {
            return evidence_.produced[record.message - 1].place.partition;
        };
        PublishedRecord& first = evidence_.published.front();
        const auto second = std::ranges::find_if(
            evidence_.published.begin() + 1, evidence_.published.end(),
            [&](const PublishedRecord& record) { return partition(record) == partition(first); });
        return {first, *second};
    }
    bool found(const std::string& part) { return holds(judge(evidence_), "I10", part); }
    bool clean() { return judge(evidence_).violations.empty(); }

    RunModel run_{std::vector<TopicSettings>{{.name = "payments", .published = true}}};
    Evidence& evidence_ = run_.evidence;
};

TEST_F(Outbox, NothingIsFoundWhereEachEffectWasPublishedOnceOrAgain) {
    ASSERT_GT(evidence_.published.size(), 4U);
    EXPECT_TRUE(clean());
    publish(evidence_.published.front().message);
    EXPECT_TRUE(clean()) << "a copy may come after later records";
}

TEST_F(Outbox, AnEffectThatWasNeverPublishedIsFound) {
    evidence_.published.pop_back();
    EXPECT_TRUE(found("never published"));
}

TEST_F(Outbox, ARecordOfADuplicateOrOfNobodyIsFound) {
    publish(duplicate());
    EXPECT_TRUE(found("whose message was not applied"));
    evidence_.published.back().message = 9999;
    EXPECT_TRUE(found("whose message was not applied"));
}

TEST_F(Outbox, ACopyWithAnotherIdIsFound) {
    publish(evidence_.published.front().message);
    evidence_.published.back().id = "another";
    EXPECT_TRUE(found("under two ids"));
}

TEST_F(Outbox, TwoKeysWithOneIdAreFound) {
    evidence_.published[1].id = evidence_.published[0].id;
    EXPECT_TRUE(found("under one id"));
}

TEST_F(Outbox, FirstCopiesOutOfOrderAreFoundWhereTheyHaveOneKeyAndPartition) {
    const auto [first, second] = neighbours();
    std::swap(first.offset, second.offset);
    EXPECT_TRUE(found("not in their order"));
    first.key = "another account";
    EXPECT_TRUE(clean()) << "records of two keys have no order";
}

TEST_F(Outbox, RowsThatWaitAreFound) {
    evidence_.outbox_rows = 1;
    EXPECT_TRUE(found("rows of the outbox wait"));
}

// The record of a transaction that the fail-over has lost: another message of its key was applied
// instead, perhaps after messages that followed it.
TEST_F(Outbox, AFailOverLeavesRecordsOfKeysThatAnotherMessageHas) {
    evidence_.settings.failed_over = true;
    publish(duplicate());
    const auto [first, second] = neighbours();
    std::swap(first.offset, second.offset);
    EXPECT_TRUE(clean());
    publish(run_.produce({0, 0}, Nature::good, "a key that nothing has") + 1);
    EXPECT_TRUE(found("whose message was not applied"));
}

TEST_F(Outbox, TopicsThatPublishNothingAreLeftAlone) {
    evidence_.topics[0].published = false;
    evidence_.published.clear();
    EXPECT_TRUE(clean());
}

}  // namespace
}  // namespace onceward::checker
