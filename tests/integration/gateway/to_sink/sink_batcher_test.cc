// Batches of requests against a real server: the answers, and what the table holds then.

#include "gateway/to_sink/sink_batcher.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <map>
#include <thread>

#include "tests/integration/gateway/order_sink.h"
#include "tests/support/cutting_proxy.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

std::string words(const KeyedOutcome& outcome) {
    if (const auto* problem = std::get_if<Problem>(&outcome)) {
        return std::to_string(status_of(problem->kind));
    }
    const KeyedAnswer& answer = std::get<KeyedAnswer>(outcome);
    switch (answer.state) {
        case KeyState::fresh: return "fresh " + answer.result.body;
        case KeyState::replayed: return "replayed " + answer.result.body;
        case KeyState::in_flight: return "in flight";
        case KeyState::conflict: return "conflict";
    }
    return "";
}

std::vector<KeyedRequest> only(KeyedRequest request) {
    std::vector<KeyedRequest> requests;
    requests.push_back(std::move(request));
    return requests;
}

class SinkBatcherTest : public ::testing::TestWithParam<StoreKind> {
  protected:
    SinkBatcherOptions options() { return order_batcher(schema_, table_, GetParam()); }
    void start(SinkBatcherOptions with) {
        batcher_ = std::make_unique<SinkBatcher>(std::move(with));
    }
    std::future<std::string> submit(const std::string& key, const std::string& body) {
        return submit(*batcher_, key, body);
    }
    static std::future<std::string> submit(SinkBatcher& batcher, const std::string& key,
                                           const std::string& body) {
        auto promise = std::make_shared<std::promise<std::string>>();
        batcher.submit(only(order(key, body)), [promise](std::size_t, KeyedOutcome outcome) {
            promise->set_value(words(outcome));
        });
        return promise->get_future();
    }
    std::string ask(const std::string& key, const std::string& body = "body") {
        return submit(key, body).get();
    }
    std::string look(const std::string& key) {
        std::promise<StatusOutcome> promise;
        batcher_->look(0, order(key, "").digest,
                       [&](StatusOutcome outcome) { promise.set_value(std::move(outcome)); });
        const StatusOutcome outcome = promise.get_future().get();
        const auto* known = std::get_if<KeyStatus>(&outcome);
        if (known == nullptr) return "problem";
        switch (known->state) {
            case KeyStatus::State::unknown: return "unknown";
            case KeyStatus::State::in_flight: return "in flight";
            case KeyStatus::State::outcome_unknown: return "outcome unknown";
            case KeyStatus::State::completed: return std::to_string(known->status);
        }
        return "";
    }
    std::int64_t rows(const std::string& where = "true") {
        return schema_.database().number("SELECT count(*) FROM " + table_ + " WHERE " + where);
    }
    // While it lives, what is submitted waits in its transaction.
    class Hold {
      public:
        explicit Hold(SinkBatcherTest& test) : Hold(test, test.table_) {}
        Hold(SinkBatcherTest& test, const std::string& table)
            : session_(test.schema_.server().dsn), database_(test.schema_.database()) {
            session_.execute("BEGIN; LOCK TABLE " + table + " IN SHARE MODE");
        }
        bool somebody_waits() {
            return eventually(30s, [&] {
                return database_.number(
                           "SELECT count(*) FROM pg_stat_activity WHERE "
                           "wait_event_type = 'Lock' AND "
                           "application_name = 'orders'") > 0;
            });
        }
        void release() { session_.execute("ROLLBACK"); }

      private:
        Database session_;
        Database& database_;
    };

    FreshSchema schema_;
    std::string table_ = order_table(schema_);
    std::unique_ptr<SinkBatcher> batcher_;
};

TEST_P(SinkBatcherTest, ARepeatGetsTheFirstOnesAnswer) {
    start(options());
    EXPECT_EQ(ask("a"), "fresh made a");
    EXPECT_EQ(ask("a"), "replayed made a");
    EXPECT_EQ(ask("b", "fail"), "fresh no b");
    EXPECT_EQ(ask("b", "fail"), "replayed no b");
    EXPECT_EQ(rows(), 2);
}

TEST_P(SinkBatcherTest, AnotherProcessKnowsTheAnswer) {
    start(options());
    EXPECT_EQ(ask("a"), "fresh made a");
    start(options());
    EXPECT_EQ(ask("a"), "replayed made a");
    EXPECT_EQ(rows(), 1);
}

TEST_P(SinkBatcherTest, AnotherRequestUnderTheKeyIsAConflict) {
    start(options());
    EXPECT_EQ(ask("a", "one"), "fresh made a");
    EXPECT_EQ(ask("a", "two"), "conflict");
    EXPECT_EQ(rows(), 1);
}

TEST_P(SinkBatcherTest, WhatGatheredBehindACommitIsOneTransaction) {
    SinkBatcherOptions patient = options();
    patient.postgres.statement_timeout = patient.longest_request = 120s;
    start(patient);
    ASSERT_EQ(ask("first"), "fresh made first");
    Hold hold(*this);
    std::vector<std::future<std::string>> answers;
    answers.push_back(submit("k", "body"));
    ASSERT_TRUE(hold.somebody_waits());
    // No more than the first batches may have, however slow the machine is.
    for (int i = 0; i < 15; ++i) answers.push_back(submit(std::to_string(i), "body"));
    hold.release();
    for (auto& answer : answers) EXPECT_TRUE(answer.get().starts_with("fresh made "));
    EXPECT_EQ(rows(), 17);
    EXPECT_EQ(schema_.database().number("SELECT count(DISTINCT xmin::text) FROM " + table_), 3);
}

TEST_P(SinkBatcherTest, WhileTheFirstRunsTheOthersAreToldSo) {
    start(options());
    ASSERT_EQ(ask("first"), "fresh made first");
    Hold hold(*this);
    auto first = submit("a", "body");
    ASSERT_TRUE(hold.somebody_waits());
    EXPECT_EQ(ask("a"), "in flight");
    EXPECT_EQ(ask("a", "other"), "in flight");
    hold.release();
    EXPECT_EQ(first.get(), "fresh made a");
    EXPECT_EQ(ask("a"), "replayed made a");
}

TEST_P(SinkBatcherTest, WhoeverWaitsGetsTheStoredAnswerOrIsToldInTime) {
    SinkBatcherOptions waits = options();
    waits.wait = 1s;
    start(waits);
    ASSERT_EQ(ask("first"), "fresh made first");
    Hold hold(*this);
    auto first = submit("a", "body"), impatient = submit("a", "body");
    EXPECT_EQ(impatient.get(), "in flight");  // the transaction still waits
    ASSERT_TRUE(hold.somebody_waits());
    auto patient = submit("a", "body");
    hold.release();
    EXPECT_EQ(first.get(), "fresh made a");
    EXPECT_EQ(patient.get(), "replayed made a");
}

// The other one's transaction has claimed the key, and waits in its sink. In a table the claim of
// the same key waits for it; a log lets both run, and the first COMMIT decides.
TEST_P(SinkBatcherTest, AKeyThatAnotherProcessWorksOnKeepsNobodyElseWaiting) {
    const bool table = GetParam() == StoreKind::table;
    // Longer than anybody is waited for below.
    const auto patient_with_locks = [this] {
        SinkBatcherOptions patient = options();
        patient.postgres.lock_timeout = 60s;
        return patient;
    };
    start(patient_with_locks());
    ASSERT_EQ(ask("first"), "fresh made first");
    const std::string theirs = schema_.user_table("theirs", "key text, body text");
    SinkBatcherOptions elsewhere = order_batcher(schema_, theirs, GetParam());
    elsewhere.postgres.lock_timeout = 60s;
    SinkBatcher other(std::move(elsewhere));
    Hold hold(*this, theirs);
    auto held = submit(other, "a", "body");
    ASSERT_TRUE(hold.somebody_waits());
    std::vector<std::future<std::string>> answers;
    for (int i = 0; i < 20; ++i) {
        answers.push_back(submit(i == 10 ? "a" : std::to_string(i), "body"));
    }
    for (std::size_t i = 0; i < answers.size(); ++i) {
        ASSERT_EQ(answers[i].wait_for(20s), std::future_status::ready) << i;
        EXPECT_EQ(answers[i].get(), i == 10 && table ? "in flight"
                                    : i == 10        ? "fresh made a"
                                                     : "fresh made " + std::to_string(i));
    }
    SinkBatcherOptions waits = patient_with_locks();
    waits.wait = 30s;
    start(waits);
    auto patient = submit("a", "body");
    for (int i = 0; i < 5; ++i) {
        auto unrelated = submit("u" + std::to_string(i), "body");
        ASSERT_EQ(unrelated.wait_for(20s), std::future_status::ready) << i;
        EXPECT_EQ(unrelated.get(), "fresh made u" + std::to_string(i));
    }
    EXPECT_EQ(rows("key = 'a'"), table ? 0 : 1);
    hold.release();
    EXPECT_EQ(held.get(), table ? "fresh made a" : "replayed made a");
    EXPECT_EQ(patient.get(), "replayed made a");
}

TEST_P(SinkBatcherTest, AKeyIsUnknownThenInFlightThenCompleted) {
    start(options());
    ASSERT_EQ(ask("first"), "fresh made first");
    EXPECT_EQ(look("a"), "unknown");
    Hold hold(*this);
    auto first = submit("a", "body");
    ASSERT_TRUE(hold.somebody_waits());
    EXPECT_EQ(look("a"), "in flight");
    hold.release();
    EXPECT_EQ(first.get(), "fresh made a");
    EXPECT_EQ(look("a"), "201");
    start(options());
    EXPECT_EQ(look("a"), "201") << "another process knows it too";
}

// None of them waits, and none of them is carried out together with the first.
TEST_P(SinkBatcherTest, TenThousandAtOnceWithoutWaitingAreOneEffect) {
    start(options());
    ASSERT_EQ(ask("first"), "fresh made first");
    Hold hold(*this);
    auto first = submit("hot", "body");
    ASSERT_TRUE(hold.somebody_waits());
    std::map<std::string, int> said;
    for (int n = 1; n < 10'000; ++n) ++said[ask("hot")];
    hold.release();
    EXPECT_THAT(said, testing::ElementsAre(testing::Pair("in flight", 9'999)));
    EXPECT_EQ(first.get(), "fresh made hot");
    EXPECT_EQ(rows("key = 'hot'"), 1);
}

TEST_P(SinkBatcherTest, TenThousandRetriesOfOneKeyAreOneEffect) {
    SinkBatcherOptions waits = options();
    waits.wait = 60s;
    waits.waiting = 20'000;
    start(waits);
    constexpr int threads = 8, each = 1250;
    std::atomic<int> fresh{0}, replayed{0}, other{0}, answered{0};
    std::vector<std::thread> clients;
    for (int i = 0; i < threads; ++i) {
        clients.emplace_back([&] {
            for (int n = 0; n < each; ++n) {
                batcher_->submit(only(order("hot", "body")),
                                 [&](std::size_t, KeyedOutcome outcome) {
                                     const std::string said = words(outcome);
                                     ++(said == "fresh made hot"      ? fresh
                                        : said == "replayed made hot" ? replayed
                                                                      : other);
                                     ++answered;
                                 });
            }
        });
    }
    for (std::thread& client : clients) client.join();
    EXPECT_TRUE(eventually(60s, [&] { return answered == threads * each; }));
    EXPECT_EQ(fresh, 1);
    EXPECT_EQ(replayed, threads * each - 1);
    EXPECT_EQ(other, 0);
    EXPECT_EQ(rows(), 1);
}

// The others of its batch land, and it holds no claim.
TEST_P(SinkBatcherTest, ABadRequestIsToldAndTheOthersLand) {
    start(options());
    ASSERT_EQ(ask("first"), "fresh made first");
    std::vector<std::future<std::string>> answers;
    {
        Hold hold(*this);
        answers.push_back(submit("k", "body"));
        ASSERT_TRUE(hold.somebody_waits());
        for (int i = 0; i < 20; ++i)
            answers.push_back(submit(std::to_string(i), i == 13 ? "bad" : "b"));
        hold.release();
    }
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const std::string said = answers[i].get();
        EXPECT_TRUE(i == 14 ? said == "422" : said.starts_with("fresh")) << i << said;
    }
    EXPECT_EQ(rows(), 21);
    EXPECT_EQ(ask("13", "good"), "fresh made 13");
}

TEST_P(SinkBatcherTest, WhatIsSubmittedTogetherIsOneTransactionWithAnAnswerForEach) {
    SinkBatcherOptions small = options();
    small.batch = 5;
    start(small);
    ASSERT_EQ(ask("3"), "fresh made 3");
    std::vector<KeyedRequest> requests;
    for (int i = 0; i < 20; ++i) requests.push_back(order(std::to_string(i), "body"));
    requests.push_back(order("7", "body"));
    requests.push_back(order("8", "other"));
    std::vector<std::string> said(requests.size());
    std::promise<void> done;
    std::atomic<std::size_t> open{requests.size()};
    batcher_->submit(std::move(requests), [&](std::size_t place, KeyedOutcome outcome) {
        said[place] = words(outcome);
        if (--open == 0) done.set_value();
    });
    done.get_future().wait();
    for (std::size_t i = 0; i < 20; ++i) {
        EXPECT_EQ(said[i], (i == 3 ? "replayed made " : "fresh made ") + std::to_string(i));
    }
    EXPECT_EQ(said[20], "replayed made 7");
    EXPECT_EQ(said[21], "conflict");
    EXPECT_EQ(schema_.database().number("SELECT count(DISTINCT xmin::text) FROM " + table_ +
                                        " WHERE key <> '3'"),
              1);
}

TEST_P(SinkBatcherTest, WithoutPostgresARequestWaitsUntilItsDeadlineAndNoLonger) {
    SinkBatcherOptions away = options();
    away.postgres.dsn = "host=127.0.0.1 port=1 dbname=none";
    away.longest_request = 500ms;
    start(away);
    EXPECT_EQ(ask("a"), "503");
}

TEST_P(SinkBatcherTest, AMissingTableIsA503AndMendedItGoesOn) {
    schema_.database().execute("ALTER TABLE " + table_ + " RENAME TO elsewhere");
    start(options());
    EXPECT_EQ(ask("a"), "503");
    schema_.database().execute("ALTER TABLE " + schema_.name() + ".elsewhere RENAME TO orders");
    EXPECT_EQ(ask("a"), "fresh made a");
}

TEST_P(SinkBatcherTest, AStopAnswersWhatWaits) {
    start(options());
    ASSERT_EQ(ask("first"), "fresh made first");
    Hold hold(*this);
    auto first = submit("a", "body");
    ASSERT_TRUE(hold.somebody_waits());
    auto queued = submit("b", "body");
    SinkBatcher& batcher = *batcher_;
    std::thread stop([&] { batcher_.reset(); });
    // It ends only after the transaction that waits.
    const auto refused = std::make_shared<std::atomic<bool>>(false);
    EXPECT_TRUE(eventually(10s, [&] {
        batcher.submit(only(order("b", "body")), [refused](std::size_t, KeyedOutcome outcome) {
            if (words(outcome) == "503") *refused = true;
        });
        return refused->load();
    }));
    hold.release();
    stop.join();
    EXPECT_EQ(first.get(), "fresh made a");
    EXPECT_EQ(queued.get(), "503");
}

// Cut at its request or its answer: the same request again, and its own result is no replay.
TEST_P(SinkBatcherTest, ACommitWithoutAnAnswerIsTriedAgainAndKnownByItsAttempt) {
    const auto port =
        static_cast<std::uint16_t>(schema_.database().number("SELECT inet_server_port()"));
    CommitTrap trap(port);
    SinkBatcherOptions through = options();
    through.postgres.dsn = trap.proxy.through(through.postgres.dsn.reveal());
    start(through);
    ASSERT_EQ(ask("first"), "fresh made first");
    const CommitFault faults[] = {CommitFault::cut_before, CommitFault::cut_inside_request,
                                  CommitFault::cut_after, CommitFault::cut_inside_answer};
    constexpr int rounds = 20;
    for (int round = 0; round < rounds; ++round) {
        trap.armed = faults[round % 4];
        const std::string key = std::to_string(round);
        EXPECT_EQ(ask(key), "fresh made " + key) << round;
        EXPECT_EQ(trap.armed, CommitFault::none) << "the fault was not injected";
        EXPECT_EQ(ask(key), "replayed made " + key) << round;
    }
    EXPECT_EQ(rows(), rounds + 1);
}

INSTANTIATE_TEST_SUITE_P(Stores, SinkBatcherTest,
                         ::testing::Values(StoreKind::table, StoreKind::log),
                         [](const auto& store) {
                             return store.param == StoreKind::table ? "Table" : "Log";
                         });

}  // namespace
}  // namespace onceward::support
