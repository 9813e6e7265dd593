#include "tests/conformance/sink_suite.h"

#include <atomic>
#include <numeric>
#include <thread>

#include "dedup/policy/refusal_search.h"

namespace onceward::support {
namespace {

std::vector<int> numbers(int first, int last) {
    std::vector<int> all(static_cast<std::size_t>(last - first + 1));
    std::iota(all.begin(), all.end(), first);
    return all;
}

template <class Scope>
concept Commits = requires(Scope& scope) {
    scope.commit();
};
template <class Scope>
concept CommitsNow = requires(Scope& scope) {
    scope.commit_now();
};

// What a sink is handed has no way to commit; what the processor holds has.
static_assert(!Commits<Transaction> && !CommitsNow<Transaction>);
static_assert(Commits<OwnedTransaction>);

}  // namespace

void SinkConformance::SetUp() {
    harness_ = GetParam().make_harness();
    connection_ = std::make_unique<Connection>(harness_->connection());
    sink_ = harness_->make_sink();
    sink_->fields();
    sink_->prepare(*connection_);
}

void SinkConformance::add(int first, int last) {
    for (int number = first; number <= last; ++number) harness_->add_message(messages_, number);
    messages_.encode(*sink_);
}

void SinkConformance::write_and_commit() {
    OwnedTransaction transaction(*connection_);
    sink_->write(transaction, context_, messages_.all());
    transaction.commit();
}

TEST_P(SinkConformance, EveryMessageTakesEffectInOrder) {
    add(1, 500);
    write_and_commit();
    EXPECT_EQ(harness_->effects(), numbers(1, 500));
}

TEST_P(SinkConformance, ATransactionThatDoesNotCommitLeavesNothing) {
    add(1, 20);
    {
        OwnedTransaction transaction(*connection_);
        sink_->write(transaction, context_, messages_.all());
    }
    EXPECT_TRUE(harness_->effects().empty());
}

TEST_P(SinkConformance, ABatchTriedTwiceAndCommittedOnceHasOneEffect) {
    add(1, 20);
    {
        OwnedTransaction transaction(*connection_);
        sink_->write(transaction, context_, messages_.all());
    }
    write_and_commit();
    EXPECT_EQ(harness_->effects(), numbers(1, 20));
}

TEST_P(SinkConformance, ABatchTriedAgainInAnotherSessionHasOneEffect) {
    add(1, 20);
    {
        OwnedTransaction transaction(*connection_);
        sink_->write(transaction, context_, messages_.all());
    }
    connection_ = std::make_unique<Connection>(harness_->connection());
    sink_->prepare(*connection_);
    write_and_commit();
    EXPECT_EQ(harness_->effects(), numbers(1, 20));
}

TEST_P(SinkConformance, AnEmptyBatchIsNothing) {
    write_and_commit();
    EXPECT_TRUE(harness_->effects().empty());
}

TEST_P(SinkConformance, BadDataIsAPostgresErrorWithItsSqlstateAndLeavesNothing) {
    harness_->add_message(messages_, 1);
    harness_->add_poison(messages_);
    harness_->add_message(messages_, 3);
    ASSERT_EQ(messages_.encode(*sink_), 0);
    try {
        write_and_commit();
        FAIL() << "the bad message was written";
    } catch (const PostgresError& error) {
        const std::string code_class = error.sqlstate().substr(0, 2);
        EXPECT_TRUE(code_class == "22" || code_class == "23") << error.sqlstate();
        EXPECT_FALSE(error.diagnosis().connection_lost);
    }
    EXPECT_TRUE(harness_->effects().empty());
    // Halving tries the good ones alone, in the same session.
    const auto all = messages_.all();
    for (const std::size_t good : {0, 2}) {
        OwnedTransaction transaction(*connection_);
        sink_->write(transaction, context_, std::span(all).subspan(good, 1));
        transaction.commit();
    }
    EXPECT_EQ(harness_->effects(), (std::vector<int>{1, 3}));
}

TEST_P(SinkConformance, ASearchFindsTheBadMessagesAndLeavesNothing) {
    for (int number = 10; number < 70; ++number) {
        harness_->add_message(messages_, number);
        if (number == 30 || number == 31 || number == 69) harness_->add_poison(messages_);
    }
    ASSERT_EQ(messages_.encode(*sink_), 0);
    const auto all = messages_.all();
    RefusalSearch search;
    for (int round = 0; round < 2; ++round) {
        OwnedTransaction transaction(*connection_);
        const std::vector<Refusal> found =
            search.run(transaction, {.sink = *sink_, .context = context_}, all);
        ASSERT_EQ(found.size(), 3U);
        EXPECT_EQ(found[0].message, all[21]);
        EXPECT_EQ(found[1].message, all[23]);
        EXPECT_EQ(found[2].message, all[62]);
        EXPECT_EQ(found[0].action, FailureAction::reject);
        EXPECT_FALSE(connection_->in_failed_transaction());
    }
    EXPECT_TRUE(harness_->effects().empty());
}

TEST_P(SinkConformance, WritingLeavesTheTransactionOpen) {
    add(1, 3);
    OwnedTransaction transaction(*connection_);
    sink_->write(transaction, context_, messages_.all());
    EXPECT_TRUE(connection_->in_transaction());
    EXPECT_FALSE(connection_->in_failed_transaction());
    EXPECT_TRUE(harness_->effects().empty());
}

TEST_P(SinkConformance, TwoWritesOfOneTransactionBothTakeEffect) {
    add(1, 10);
    const auto all = messages_.all();
    OwnedTransaction transaction(*connection_);
    sink_->write(transaction, context_, std::span(all).first(4));
    sink_->write(transaction, context_, std::span(all).subspan(4));
    transaction.commit();
    EXPECT_EQ(harness_->effects(), numbers(1, 10));
}

TEST_P(SinkConformance, ResultsAreOneForEachMessageOfTheLastWriteOrNone) {
    add(1, 10);
    const auto all = messages_.all();
    OwnedTransaction transaction(*connection_);
    sink_->write(transaction, context_, std::span(all).first(4));
    sink_->write(transaction, context_, std::span(all).subspan(4));
    const std::vector<MessageResult> results = sink_->take_results();
    EXPECT_TRUE(results.empty() || results.size() == 6) << results.size();
    EXPECT_TRUE(sink_->take_results().empty());
}

// The reader encodes while the writer writes and prepares again; the sanitizer's build looks
// closer.
TEST_P(SinkConformance, EncodingBesideWritingAndPreparingIsSafe) {
    add(1, 200);
    std::atomic<bool> stop{false};
    std::atomic<int> encoded{0};
    std::thread reader([&] {
        TestMessages others;
        harness_->add_message(others, 1000);
        while (!stop) {
            others.encode(*sink_);
            ++encoded;
        }
    });
    const auto all = messages_.all();
    for (std::size_t at = 0; at < all.size(); at += 20) {
        sink_->prepare(*connection_);
        OwnedTransaction transaction(*connection_);
        sink_->write(transaction, context_, std::span(all).subspan(at, 20));
        transaction.commit();
    }
    stop = true;
    reader.join();
    EXPECT_GT(encoded, 0);
    EXPECT_EQ(harness_->effects(), numbers(1, 200));
}

}  // namespace onceward::support
