// `onceward doctor`: probes are bounded and independent, and what measured values mean.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>

#include "cli/doctor/judgements.h"
#include "cli/doctor/probes.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::vector<ProbeRow> fine() { return {{ProbeVerdict::ok, "fine", ""}}; }

// Waits until it is let through, as a server does that does not answer.
struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
    bool passed = false;
    void pass() {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return open; });
        passed = true;
        changed.notify_all();
    }
    void let_through() {
        std::unique_lock lock(mutex);
        open = true;
        changed.notify_all();
        changed.wait(lock, [this] { return passed; });
    }
};

TEST(Probes, OneWithoutAnswerAndOneThatThrowsDoNotStopTheOthers) {
    auto gate = std::make_shared<Gate>();
    const std::vector<Probe> probes = {
        {"a", "hangs",
         [gate] {
             gate->pass();
             return fine();
         }},
        {"a", "throws",
         []() -> std::vector<ProbeRow> { throw std::runtime_error("refused\nIs it running?"); }},
        {"b", "answers", fine}};
    const std::vector<ProbeResult> results = run_probes(probes, 500ms);
    ASSERT_EQ(results.size(), 3u);
    EXPECT_FALSE(results[0].answered);
    EXPECT_EQ(results[0].rows[0].text, "no answer within 500ms");
    EXPECT_EQ(results[0].rows[0].verdict, ProbeVerdict::fault);
    EXPECT_EQ(results[1].rows[0].text, "refused");
    EXPECT_EQ(results[1].rows[0].verdict, ProbeVerdict::fault);
    EXPECT_EQ(results[2].rows[0].text, "fine");
    gate->let_through();
}

// Twelve run at once, so that thirty that hang cost three limits and not thirty.
TEST(Probes, ManyThatHangCostAFewLimits) {
    auto gate = std::make_shared<Gate>();
    std::vector<Probe> probes(30, {"a", "hangs", [gate] {
                                       gate->pass();
                                       return fine();
                                   }});
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(run_probes(probes, 100ms).size(), 30u);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
    gate->let_through();
}

TEST(Probes, TheWorstCountsAndANoteDoesNot) {
    const auto with = [](std::vector<ProbeVerdict> verdicts) {
        ProbeResult result;
        for (const ProbeVerdict verdict : verdicts) result.rows.push_back({verdict});
        return worst({result});
    };
    EXPECT_EQ(with({ProbeVerdict::ok, ProbeVerdict::note}), ProbeVerdict::ok);
    EXPECT_EQ(with({ProbeVerdict::warning, ProbeVerdict::ok}), ProbeVerdict::warning);
    EXPECT_EQ(with({ProbeVerdict::fault, ProbeVerdict::warning}), ProbeVerdict::fault);
}

TEST(Judgements, AClockIsJudgedByMoreThanHalfARoundTrip) {
    EXPECT_EQ(judge_clock(999ms, 0ms).verdict, ProbeVerdict::ok);
    EXPECT_EQ(judge_clock(-1500ms, 0ms).verdict, ProbeVerdict::warning);
    EXPECT_EQ(judge_clock(1500ms, 1200ms).verdict, ProbeVerdict::ok);
    EXPECT_EQ(judge_clock(61s, 0ms).verdict, ProbeVerdict::fault);
    EXPECT_THAT(judge_clock(-1500ms, 2ms).text, HasSubstr("1500.0 ms earlier"));
}

TEST(Judgements, ARecordOfTheFutureIsAWarning) {
    EXPECT_EQ(judge_newest_record(100s, 100s, true).verdict, ProbeVerdict::ok);
    EXPECT_EQ(judge_newest_record(103s, 100s, true).verdict, ProbeVerdict::warning);
    EXPECT_THAT(judge_newest_record(103s, 100s, false).text, HasSubstr("a producer"));
}

TEST(Judgements, ConnectionsHaveToSufficeForTheProcess) {
    EXPECT_EQ(judge_connections(100, 3, 90, 7).verdict, ProbeVerdict::ok);
    EXPECT_EQ(judge_connections(100, 3, 91, 7).verdict, ProbeVerdict::warning);
}

TEST(Judgements, OverdueClaimsAreAWarningWithWhatHoldsThem) {
    EXPECT_EQ(judge_ledger("l", 1, 1, 24h, 30min, "").verdict, ProbeVerdict::ok);
    const ProbeRow row = judge_ledger("l", 1, 1, 24h, 31min, "billing");
    EXPECT_EQ(row.verdict, ProbeVerdict::warning);
    EXPECT_THAT(row.text, HasSubstr("held back by billing"));
}

TEST(Judgements, AnOldTransactionIsAWarningAndThenAFault) {
    EXPECT_EQ(judge_transaction("s", 299s, true).verdict, ProbeVerdict::ok);
    EXPECT_EQ(judge_transaction("s", 300s, true).verdict, ProbeVerdict::warning);
    EXPECT_EQ(judge_transaction("s", 3600s, true).verdict, ProbeVerdict::fault);
}

TEST(Probes, WhatCheckConnectFoundIsARowEach) {
    ConnectResult result;
    result.error({3, 1}, "kafka", "bad");
    result.warning({4, 1}, "topics[0]", "doubtful");
    result.good.push_back("good");
    const std::vector<ProbeRow> rows = rows_of(result);
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0].verdict, ProbeVerdict::fault);
    EXPECT_THAT(rows[0].next, HasSubstr("line 3"));
    EXPECT_EQ(rows[1].verdict, ProbeVerdict::warning);
    EXPECT_EQ(rows[2].verdict, ProbeVerdict::ok);
}

}  // namespace
}  // namespace onceward
