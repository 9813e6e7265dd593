// Requests to an upstream that nobody can repeat, or whose key somebody else has in hand.

#include <atomic>

#include "lab/embedded/private_postgres.h"
#include "tests/integration/gateway/upstream_scene.h"
#include "tests/support/cutting_proxy.h"
#include "tests/support/eventually.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

class UpstreamRepeatTest : public UpstreamScene {};

// Each claim takes longer than the pause between two checks of a held key.
struct SlowClaims final : StepObserver {
    void reached(Step step) override {
        if (step != Step::before_begin) return;
        const auto over = std::chrono::steady_clock::now() + 60ms;
        eventually(10s, [&] { return std::chrono::steady_clock::now() > over; });
        ++count;
    }
    std::atomic<int> count{0};
};

// Nobody could come again for the lease, which would stay in flight until somebody looked.
TEST_F(UpstreamRepeatTest, WithoutAKeyNothingIsLeftBehindHoweverTheCallEnds) {
    CuttingProxy proxy(CuttingProxy::Protocol::bytes);
    serve(made);
    proxy.set_target(static_cast<std::uint16_t>(server_->port()));
    start(proxy.port());
    ASSERT_EQ(ask("a"), "201 made body");
    EXPECT_EQ(ask(""), "201 made body");
    EXPECT_EQ(ask(""), "201 made body");
    proxy.cut_at(CuttingProxy::Direction::to_client, 1);
    EXPECT_EQ(ask(""), "504 upstream-unanswered");
    proxy.cut_nowhere();
    EXPECT_EQ(ask(""), "201 made body");
    EXPECT_EQ(server_->calls().size(), 5U);
    EXPECT_EQ(schema_.database().number("SELECT count(*) FROM leases"), 1)
        << "that of the request with a key";
    EXPECT_EQ(answers_kept(), 1);
}

// No answer comes from there: it waits as long as the route says, and no longer.
TEST_F(UpstreamRepeatTest, AKeyThatAnotherProcessHoldsIsWaitedForBoundedly) {
    options_.wait = 300ms;
    serve(made);
    ASSERT_EQ(ask("first"), "201 made body");
    crash_with("a", 60s);
    const auto asked = std::chrono::steady_clock::now();
    EXPECT_EQ(ask("a"), "in flight");
    EXPECT_GE(std::chrono::steady_clock::now() - asked, 200ms);
    EXPECT_EQ(server_->calls().size(), 1U);
}

// Their checks would fill the time of all threads.
TEST_F(UpstreamRepeatTest, NewCallsBeginThoughManyKeysAreHeldElsewhere) {
    options_.wait = 30s;
    options_.upstream.concurrency = 1;
    SlowClaims slow;
    options_.observer = &slow;
    serve(made);
    ASSERT_EQ(ask("first"), "201 made body");
    for (const char* key : {"a", "b", "c"}) crash_with(key, 60s);
    std::vector<std::future<std::string>> held;
    for (const char* key : {"a", "b", "c"}) held.push_back(submit(order(key, "body")));
    EXPECT_TRUE(eventually(20s, [&] { return slow.count >= 5; })) << "one was checked again";
    auto fresh = submit(order("fresh", "body"));
    const bool called = fresh.wait_for(15s) == std::future_status::ready;
    EXPECT_TRUE(called) << "only held keys are checked";
    for (auto& one : held) EXPECT_EQ(one.wait_for(0s), std::future_status::timeout);
    route_.reset();
    EXPECT_EQ(fresh.get(), "201 made body");
}

TEST_F(UpstreamRepeatTest, AKeyThatIsFreedElsewhereIsCalledWithinTheWait) {
    options_.wait = 30s;
    serve(made);
    ASSERT_EQ(ask("first"), "201 made body");
    options_.upstream.honours_key = true;
    start(server_->port());
    crash_with("a", 1500ms);
    EXPECT_EQ(ask("a"), "201 made body");
}

// An answer that is read after the call's time would be ignored, and its key be in doubt.
TEST_F(UpstreamRepeatTest, AnAnswerIsTakenThoughPostgresHasNoneForTheHeartbeat) {
    CuttingProxy proxy(
        CuttingProxy::Protocol::bytes,
        static_cast<std::uint16_t>(std::stoi(schema_.database().value("SHOW port"))));
    options_.postgres.dsn = proxy.through(options_.postgres.dsn.reveal());
    options_.ledger.lease = 12s;
    options_.upstream.timeout = 6s;
    std::promise<void> go = serve_held();
    auto answer = submit(order("a", "body"));
    EXPECT_TRUE(eventually(20s, [&] { return server_->calls().size() == 1; }));
    const auto over = std::chrono::steady_clock::now() + 7s;
    proxy.hold_answers(true);
    const std::uint64_t before = proxy.bytes();
    EXPECT_TRUE(eventually(20s, [&] { return proxy.bytes() > before; })) << "no heartbeat";
    go.set_value();
    EXPECT_TRUE(eventually(20s, [&] { return std::chrono::steady_clock::now() > over; }));
    proxy.hold_answers(false);
    EXPECT_EQ(answer.get(), "201 made body");
    EXPECT_EQ(ask("a"), "replayed 201 made body");
}

// Nobody knows yet that they are repeats, and the route says that nobody waits.
TEST_F(UpstreamRepeatTest, RepeatsAtOnceOfAKeyThatEndedAllGetItsAnswerThoughNoneSaysToWait) {
    options_.wait = 0s;
    options_.postgres.application_name = "looking";
    options_.postgres.lock_timeout = 60s;
    serve(made);
    ASSERT_EQ(ask("a"), "201 made body");
    Database blocker(schema_.server().dsn);
    blocker.execute("BEGIN");
    blocker.execute("LOCK TABLE " + schema_.name() + ".leases");
    std::vector<std::future<std::string>> repeats;
    repeats.push_back(submit(order("a", "body")));
    EXPECT_TRUE(eventually(20s, [&] {
        return schema_.database().number(
                   "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                   "application_name = 'looking'") == 1;
    }));
    std::future<std::string> mistake = submit(order("a", "other"));
    for (int i = 0; i < 10; ++i) repeats.push_back(submit(order("a", "body")));
    blocker.execute("COMMIT");
    for (auto& repeat : repeats) EXPECT_EQ(repeat.get(), "replayed 201 made body");
    EXPECT_EQ(mistake.get(), "conflict");
    EXPECT_EQ(server_->calls().size(), 1U);
}

TEST_F(UpstreamRepeatTest, WhileTheCallRunsARepeatIsToldSoAtOnce) {
    options_.wait = 0s;
    std::promise<void> go = serve_held();
    auto first = submit(order("a", "body"));
    EXPECT_TRUE(eventually(20s, [&] { return server_->calls().size() == 1; }));
    auto repeat = submit(order("a", "body"));
    const bool told = repeat.wait_for(10s) == std::future_status::ready;
    go.set_value();
    ASSERT_TRUE(told);
    EXPECT_EQ(repeat.get(), "in flight");
    EXPECT_EQ(first.get(), "201 made body");
}

// Its deadline is earlier than theirs: at the end of the queue it would be told too late.
TEST_F(UpstreamRepeatTest, ARequestThatWaitedForItsKeyGoesBeforeThoseThatArrivedLater) {
    options_.wait = 30s;
    options_.upstream.concurrency = 1;
    std::promise<void> first_end, later_end;
    const std::shared_future<void> first_ended = first_end.get_future().share();
    const std::shared_future<void> later_ended = later_end.get_future().share();
    serve([=](const RecordedCall& call, int number) {
        (call.body == "first" ? first_ended : later_ended).wait();
        return made(call, number);
    });
    auto runs = submit(order("a", "first"));
    EXPECT_TRUE(eventually(20s, [&] { return server_->calls().size() == 1; }));
    auto waits = submit(order("a", "other"));
    auto later = submit(order("b", "later"));
    first_end.set_value();
    const bool told = waits.wait_for(20s) == std::future_status::ready;
    later_end.set_value();
    EXPECT_TRUE(told) << "it waits for a call of one that arrived later";
    EXPECT_EQ(runs.get(), "201 made first");
    EXPECT_EQ(waits.get(), "conflict");
    EXPECT_EQ(later.get(), "201 made later");
}

// A gateway between answers 502 or 504, and a service 500, where the effect may be there.
TEST_F(UpstreamRepeatTest, AFailureThatDoesNotSayThatNothingHappenedIsNotCalledAgain) {
    serve([](const RecordedCall& call, int) {
        return RecordedAnswer{.status = std::stoi(call.body), .body = "no"};
    });
    for (const std::string status : {"500", "502", "504", "599"}) {
        EXPECT_EQ(ask("k" + status, status), status + " no");
        EXPECT_EQ(ask("k" + status, status), "in flight") << status;
        EXPECT_EQ(state("k" + status), "in_flight 1");
    }
    EXPECT_EQ(server_->calls().size(), 4U);
    for (const std::string status : {"408", "425", "429", "503"}) {
        EXPECT_EQ(ask("k" + status, status), status + " no");
        EXPECT_EQ(ask("k" + status, status), status + " no");
    }
    EXPECT_EQ(server_->calls().size(), 12U);
    // Such an upstream applies two calls under one downstream key once.
    options_.upstream.honours_key = true;
    start(server_->port());
    for (int i = 0; i < 2; ++i) EXPECT_EQ(ask("honoured", "500"), "500 no");
    EXPECT_EQ(server_->calls().size(), 14U);
}

// The claim's COMMIT takes effect, its answer is lost, and PostgreSQL is away until the deadline.
TEST_F(UpstreamRepeatTest, AClaimInDoubtThatWasNeverCalledIsFreeOncePostgresIsBack) {
    const auto port =
        static_cast<std::uint16_t>(schema_.database().number("SELECT inet_server_port()"));
    CuttingProxy proxy(CuttingProxy::Protocol::postgres, port);
    options_.postgres.dsn = proxy.through(options_.postgres.dsn.reveal());
    options_.ledger.lease = 4s;
    options_.upstream.timeout = 1s;
    options_.upstream.concurrency = 1;
    options_.patience = 2s;
    serve(made);
    ASSERT_EQ(ask("first"), "201 made body");
    proxy.on_commit([&](const ProxiedCommit&) {
        proxy.refuse(true);
        return CommitFault::cut_after;
    });
    EXPECT_EQ(ask("a"), "503 unavailable");
    EXPECT_TRUE(eventually(10s, [&] { return state("a") == "in_flight 1"; }));
    proxy.on_commit({});
    proxy.refuse(false);
    EXPECT_TRUE(eventually(20s, [&] { return state("a").ends_with(" free"); })) << state("a");
    EXPECT_EQ(server_->calls().size(), 1U);
    EXPECT_EQ(ask("a"), "201 made body");
    EXPECT_EQ(server_->calls().size(), 2U);
}

// The COMMIT waits for its standby even after its connection was cut, and no release sees its row
// before it ends.
TEST_F(UpstreamRepeatTest, AClaimWhoseCommitIsStillUnderWayIsFreeOnceThatHasEnded) {
    PrivatePostgres primary;
    create_worker_role(primary.dsn());
    FreshSchema schema(PostgresAddress{primary.dsn(), ""});
    CuttingProxy proxy(CuttingProxy::Protocol::postgres, primary.port());
    options_.postgres = schema.worker();
    options_.postgres.dsn = proxy.through(options_.postgres.dsn.reveal());
    options_.postgres.application_name = "charges";
    options_.upstream.concurrency = 1;
    options_.patience = 2s;
    serve(made);
    ASSERT_EQ(ask("first"), "201 made body");
    // Only the claim's COMMIT is to wait. A later session's registration, which comes before the
    // release, is not.
    schema.database().execute(std::string("ALTER ROLE ") + worker_role +
                              " SET synchronous_commit = local");
    const auto waits_for = [&](const std::string& event) {
        return eventually(20s, [&] {
            return schema.database().number(
                       "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'charges' "
                       "AND '" +
                       event + "' IN (wait_event, wait_event_type)") == 1;
        });
    };
    primary.set("synchronous_standby_names", "missing");
    ASSERT_TRUE(commits_wait_for_a_standby(primary.dsn()));
    auto answer = submit(order("a", "body"));
    EXPECT_TRUE(waits_for("SyncRep"));
    proxy.refuse(true);
    proxy.cut_all();
    EXPECT_EQ(answer.get(), "503 unavailable");
    EXPECT_TRUE(waits_for("SyncRep")) << "the COMMIT is no longer under way";
    proxy.refuse(false);
    EXPECT_TRUE(waits_for("Lock")) << "the release does not wait for the COMMIT";
    primary.set("synchronous_standby_names", "");
    const bool is_free = eventually(20s, [&] { return state("a", schema).ends_with(" free"); });
    EXPECT_TRUE(is_free) << state("a", schema);
    EXPECT_EQ(server_->calls().size(), 1U);
    EXPECT_EQ(ask("a"), "201 made body");
    route_.reset();
}

// The answer says that the upstream refused it, and that the client may send the request again.
TEST_F(UpstreamRepeatTest, AKeyThatItsCallFreesWhilePostgresIsAwayIsFreeOncePostgresIsBack) {
    const auto port =
        static_cast<std::uint16_t>(schema_.database().number("SELECT inet_server_port()"));
    CuttingProxy proxy(CuttingProxy::Protocol::postgres, port);
    options_.postgres.dsn = proxy.through(options_.postgres.dsn.reveal());
    options_.patience = 2s;
    serve([&](const RecordedCall& call, int number) {
        if (number > 1) return made(call, number);
        proxy.refuse(true);
        proxy.cut_all();
        return RecordedAnswer{.status = 503, .body = "busy"};
    });
    EXPECT_EQ(ask("a"), "503 busy");
    EXPECT_EQ(state("a"), "in_flight 1");
    proxy.refuse(false);
    EXPECT_TRUE(eventually(20s, [&] { return state("a").ends_with(" free"); })) << state("a");
    EXPECT_EQ(ask("a"), "201 made body");
    EXPECT_EQ(server_->calls().size(), 2U);
}

}  // namespace
}  // namespace onceward::support
