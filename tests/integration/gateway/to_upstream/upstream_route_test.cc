// Requests to an upstream against a real PostgreSQL and a server that writes down each call: what
// the upstream gets, what clients are told, and what the ledger holds then.

#include <gmock/gmock.h>

#include <atomic>
#include <future>

#include "cli/configuration/load.h"
#include "cli/process/serve_routes.h"
#include "lab/embedded/private_postgres.h"
#include "sinks/webhook/rules.h"
#include "tests/integration/gateway/raw_client.h"
#include "tests/integration/gateway/upstream_scene.h"
#include "tests/support/cutting_proxy.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

class UpstreamRouteTest : public UpstreamScene {
  protected:
    // Asks with a key whose claim waits for longer than a request may, and then lands. The route's
    // session is there already, so that the claim begins at once.
    std::string ask_with_a_late_claim(const std::string& key) {
        options_.patience = 2s;
        options_.postgres.application_name = "late";
        serve(made);
        EXPECT_EQ(ask("first"), "201 made body");
        Database blocker(schema_.server().dsn);
        blocker.execute("BEGIN");
        blocker.execute("LOCK TABLE " + schema_.name() + ".leases IN SHARE MODE");
        auto late = submit(order(key, "body"));
        const auto over = std::chrono::steady_clock::now() + options_.patience;
        EXPECT_TRUE(eventually(20s, [&] {
            return std::chrono::steady_clock::now() > over &&
                   schema_.database().number(
                       "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                       "application_name = 'late'") == 1;
        }));
        blocker.execute("COMMIT");
        return late.get();
    }
};

struct LooksAtKeys final : StepObserver {
    void reached(Step step) override {
        if (step == Step::before_begin) ++count;
    }
    std::atomic<int> count{0};
};

TEST_F(UpstreamRouteTest, OneCallIsMadeAndItsAnswerIsReplayedByAnotherProcessToo) {
    serve(made);
    KeyedRequest request = order("a", "body");
    request.request.target = "/orders/1?dry=no";
    request.request.headers = {{"Content-Type", "text/plain"},
                               {"Authorization", "Bearer secret"},
                               {"Idempotency-Key", "a"},
                               {"traceparent", "00-1-2-01"}};
    EXPECT_EQ(submit(request).get(), "201 made body");
    EXPECT_EQ(submit(request).get(), "replayed 201 made body");
    start(server_->port());
    EXPECT_EQ(submit(request).get(), "replayed 201 made body");
    EXPECT_EQ(ask("a", "other"), "conflict");
    ASSERT_EQ(server_->calls().size(), 1U);
    const RecordedCall call = server_->calls().front();
    EXPECT_EQ(call.method, "POST");
    EXPECT_EQ(call.path, "/base/orders/1");
    EXPECT_EQ(call.body, "body");
    EXPECT_EQ(call.header("content-type"), "text/plain");
    EXPECT_EQ(call.header("idempotency-key"), key_header_value(request.digest));
    EXPECT_EQ(call.header("traceparent"), "00-1-2-01");
    EXPECT_EQ(call.header("authorization"), "");
    EXPECT_EQ(state("a"), "done 1");
}

TEST_F(UpstreamRouteTest, AKeyFromBeforeTheLedgersMemoryIsNotCalled) {
    serve(made);
    const auto minted = [&](const std::string& key, std::chrono::seconds ago) {
        KeyedRequest request = order(key, "body");
        request.minted_at = MintedAt(since_1970<std::chrono::microseconds>() - ago);
        return submit(std::move(request)).get();
    };
    EXPECT_EQ(minted("a", 3600s), "201 made body") << "nothing was forgotten yet";
    schema_.database().execute("UPDATE ledgers SET memory_begins = clock_timestamp()");
    EXPECT_EQ(minted("a", 3600s), "replayed 201 made body") << "it is known still";
    EXPECT_EQ(minted("b", 3600s), "412 key-expired");
    EXPECT_EQ(minted("c", -90s), "400 key-malformed");
    EXPECT_EQ(minted("d", 0s), "201 made body");
    EXPECT_EQ(server_->calls().size(), 2U);
    EXPECT_EQ(state("b"), "") << "a refusal is not kept";
}

TEST_F(UpstreamRouteTest, ManyRetriesAtOnceInTwoProcessesAreOneCall) {
    options_.wait = 30s;
    std::promise<void> go = serve_held();
    std::vector<std::future<std::string>> answers;
    for (int i = 0; i < 50; ++i) answers.push_back(submit(order("hot", "body")));
    ASSERT_TRUE(eventually(20s, [&] { return server_->calls().size() == 1; }));
    // The other process looks, is told that the key is in flight, and looks again.
    LooksAtKeys looks;
    UpstreamRequestOptions there = options_;
    there.observer = &looks;
    UpstreamRequests other(there);
    std::promise<std::string> elsewhere;
    std::vector<KeyedRequest> requests;
    requests.push_back(order("hot", "body"));
    other.submit(std::move(requests),
                 [&](std::size_t, KeyedOutcome outcome) { elsewhere.set_value(told_of(outcome)); });
    const bool looked_again = eventually(20s, [&] { return looks.count >= 2; });
    go.set_value();
    EXPECT_TRUE(looked_again) << "it does not wait for another process";
    EXPECT_EQ(elsewhere.get_future().get(), "replayed 201 made body");
    int fresh = 0;
    for (auto& answer : answers) {
        const std::string text = answer.get();
        if (text == "201 made body") ++fresh;
        EXPECT_TRUE(text.ends_with("201 made body")) << text;
    }
    EXPECT_EQ(fresh, 1);
    EXPECT_EQ(server_->calls().size(), 1U);
}

// Its turn never came, so that nothing is claimed: the next one with the key is the first.
TEST_F(UpstreamRouteTest, ARequestThatWaitedTooLongForItsTurnIsNeverCalled) {
    options_.upstream.concurrency = 1;
    options_.patience = 2s;
    std::promise<void> go = serve_held();
    auto first = submit(order("first", "body"));
    ASSERT_TRUE(eventually(20s, [&] { return server_->calls().size() == 1; }));
    auto waited = submit(order("waited", "body"));
    const bool told_in_time = waited.wait_for(20s) == std::future_status::ready;
    go.set_value();
    ASSERT_TRUE(told_in_time) << "it waits for the call before it";
    EXPECT_EQ(waited.get(), "503 unavailable");
    EXPECT_EQ(first.get(), "201 made body");
    EXPECT_EQ(state("waited"), "");
    EXPECT_EQ(server_->calls().size(), 1U);
    EXPECT_EQ(ask("waited"), "201 made body");
}

TEST_F(UpstreamRouteTest, AClaimThatCameTooLateIsLetGoWithoutACall) {
    EXPECT_EQ(ask_with_a_late_claim("late"), "503 unavailable");
    EXPECT_EQ(server_->calls().size(), 1U);
    EXPECT_EQ(state("late"), "failed 1 free");
    EXPECT_EQ(ask("late"), "201 made body");
}

// The call could outlast what is left of the lease, and the deadline leaves no time for another
// claim.
TEST_F(UpstreamRouteTest, AClaimWhoseLeaseIsTooShortForTheCallIsLetGoAtTheDeadline) {
    options_.ledger.lease = 6s;
    options_.upstream.timeout = 4500ms;
    EXPECT_EQ(ask_with_a_late_claim("late"), "503 unavailable");
    EXPECT_EQ(server_->calls().size(), 1U);
    EXPECT_TRUE(eventually(20s, [&] { return state("late").ends_with(" free"); })) << state("late");
    EXPECT_EQ(ask("late"), "201 made body");
}

// A fail-over would lose the lease, and the new server know nothing of the call.
TEST_F(UpstreamRouteTest, NoCallIsMadeBeforeTheStandbyHasItsLease) {
    PrivatePostgres primary;
    create_worker_role(primary.dsn());
    FreshSchema schema(PostgresAddress{primary.dsn(), ""});
    options_.postgres = schema.worker();
    options_.postgres.statement_timeout = 1s;
    options_.upstream.concurrency = 1;
    serve(made);
    ASSERT_EQ(ask("first"), "201 made body");
    primary.set("synchronous_standby_names", "missing");
    ASSERT_TRUE(commits_wait_for_a_standby(primary.dsn()));
    auto answer = submit(order("a", "body"));
    EXPECT_FALSE(eventually(3s, [&] { return server_->calls().size() > 1; }));
    primary.set("synchronous_standby_names", "");
    EXPECT_EQ(answer.get(), "201 made body");
    route_.reset();
}

TEST_F(UpstreamRouteTest, AFinalFailureIsReplayedAndAPassingOneFreesTheKey) {
    serve([](const RecordedCall& call, int number) {
        if (call.body == "no") return RecordedAnswer{.status = 402, .body = "no money"};
        return number == 1 ? RecordedAnswer{.status = 503, .body = "busy"} : made(call, number);
    });
    EXPECT_EQ(ask("poor", "no"), "402 no money");
    EXPECT_EQ(ask("poor", "no"), "replayed 402 no money");
    EXPECT_EQ(state("poor"), "failed 1");
    EXPECT_EQ(ask("a"), "503 busy");
    EXPECT_EQ(state("a"), "failed 1 free");
    EXPECT_EQ(ask("a"), "201 made body");
    EXPECT_EQ(ask("a"), "replayed 201 made body");
    EXPECT_EQ(state("a"), "done 2");
}

TEST_F(UpstreamRouteTest, AConnectionThatDoesNotComeAboutFreesTheKey) {
    start(1);
    EXPECT_EQ(ask("a"), "502 upstream-unreachable");
    EXPECT_EQ(state("a"), "failed 1 free");
    serve(made);
    EXPECT_EQ(ask("a"), "201 made body");
}

// The upstream has carried it out, and its answer is cut off on the way.
TEST_F(UpstreamRouteTest, ALostAnswerHoldsTheKeyUnlessTheUpstreamKnowsIt) {
    CuttingProxy proxy(CuttingProxy::Protocol::bytes);
    proxy.cut_at(CuttingProxy::Direction::to_client, 1);
    serve(made);
    proxy.set_target(static_cast<std::uint16_t>(server_->port()));
    start(proxy.port());
    EXPECT_EQ(ask("held"), "504 upstream-unanswered");
    EXPECT_EQ(ask("held"), "in flight");
    EXPECT_EQ(state("held"), "in_flight 1");
    options_.upstream.honours_key = true;
    options_.upstream.on_unknown = UpstreamTarget::OnUnknown::release;
    start(proxy.port());
    EXPECT_EQ(ask("freed"), "504 upstream-unanswered");
    proxy.cut_nowhere();
    EXPECT_EQ(ask("freed"), "201 made body");
    EXPECT_EQ(ask("held"), "in flight");  // its lease continues
    EXPECT_EQ(server_->counts()[key_header_value(order("freed", "").digest)], 2);
}

TEST_F(UpstreamRouteTest, AfterACrashOnlyAnUpstreamThatKnowsTheKeyIsCalledAgain) {
    serve(made);
    ASSERT_EQ(ask("first"), "201 made body");
    crash_with("a", 2500ms);
    EXPECT_EQ(ask("a"), "in flight");
    EXPECT_TRUE(eventually(20s, [&] { return ask("a") == "409 outcome-unknown"; }));
    EXPECT_EQ(server_->calls().size(), 1U);
    options_.upstream.honours_key = true;
    start(server_->port());
    EXPECT_EQ(ask("a"), "201 made body");
    EXPECT_EQ(state("a"), "done 2");
}

TEST_F(UpstreamRouteTest, AStaleOwnerChangesNothing) {
    serve([&](const RecordedCall& call, int number) {
        // Somebody else has it by now.
        Database(schema_.server().dsn)
            .execute("UPDATE " + schema_.name() + ".leases SET owner_token = gen_random_uuid()");
        return made(call, number);
    });
    EXPECT_EQ(ask("a"), "in flight");
    EXPECT_EQ(state("a"), "in_flight 1");
    EXPECT_EQ(answers_kept(), 0);
}

TEST_F(UpstreamRouteTest, AStaleOwnerFreesNothing) {
    serve([&](const RecordedCall&, int) {
        Database(schema_.server().dsn)
            .execute("UPDATE " + schema_.name() + ".leases SET owner_token = gen_random_uuid()");
        return RecordedAnswer{.status = 503, .body = "busy"};
    });
    EXPECT_EQ(ask("a"), "503 busy");
    EXPECT_EQ(state("a"), "in_flight 1") << "another owner's call is under way";
}

TEST_F(UpstreamRouteTest, TheLeaseIsExtendedWhileTheCallRuns) {
    options_.ledger.lease = 3s;
    options_.upstream.timeout = 2500ms;
    std::promise<void> go = serve_held();
    auto answer = submit(order("a", "body"));
    EXPECT_TRUE(eventually(20s, [&] {
        return schema_.database().number(
                   "SELECT count(*) FROM leases WHERE lease_until > "
                   "claimed_at + interval '3500 milliseconds'") == 1;
    }));
    go.set_value();
    answer.wait();
}

TEST_F(UpstreamRouteTest, AQuestionThatPostgresDoesNotAnswerIsA503) {
    options_.postgres.dsn = Secret("host=127.0.0.1 port=1");
    start(1);
    std::promise<StatusOutcome> promise;
    route_->look(0, order("a", "").digest,
                 [&](StatusOutcome outcome) { promise.set_value(std::move(outcome)); });
    const StatusOutcome outcome = promise.get_future().get();
    ASSERT_TRUE(std::holds_alternative<Problem>(outcome));
    EXPECT_EQ(std::get<Problem>(outcome).kind, ProblemKind::unavailable);
}

TEST_F(UpstreamRouteTest, TheWholeWayFromAConfigurationToTheReplay) {
    serve(made);
    const std::string text =
        "group: shop\nkafka: {bootstrap_servers: '127.0.0.1:1'}\npostgres: {dsn: '" +
        schema_.worker().dsn.reveal() + "', schema: " + schema_.name() +
        "}\nhttp:\n  listen: 127.0.0.1:0\n  routes:\n    - method: POST\n      path: /orders/{id}\n"
        "      upstream: {url: 'http://127.0.0.1:" +
        std::to_string(server_->port()) +
        "', allow_private: [127.0.0.1]}\n      ledger: {name: whole, store: lease}\n";
    const LoadResult loaded = load_configuration_text(text, "test.yaml");
    for (const Finding& finding : loaded.findings) ADD_FAILURE() << finding.message;
    const GatewayRun gateway(loaded.configuration);
    RawClient client(gateway.port());
    for (const bool again : {false, true}) {
        const RawResponse response =
            client.ask("POST", "/orders/7?a=b", "Idempotency-Key: k\r\n", "body").value();
        EXPECT_EQ(response.status, 201);
        EXPECT_EQ(response.body, "made body");
        EXPECT_EQ(response.headers.at("location"), "/orders/1");
        EXPECT_EQ(response.headers.at("idempotency-key"), "k");
        EXPECT_EQ(response.headers.contains("idempotent-replayed"), again);
        EXPECT_FALSE(response.headers.contains("set-cookie"));
    }
    for (const char* target : {"/orders/..", "/orders/..;", "/orders/a%2Fb", "/orders/%252e."}) {
        EXPECT_EQ(client.ask("POST", target, "Idempotency-Key: l\r\n", "").value().status, 400);
    }
    EXPECT_EQ(server_->calls().size(), 1U);
}

// Cut at its request or its answer: the same step again, and its own result is no replay.
TEST_F(UpstreamRouteTest, ACommitWithoutAnAnswerIsTriedAgainUnderTheSameToken) {
    const auto port =
        static_cast<std::uint16_t>(schema_.database().number("SELECT inet_server_port()"));
    CuttingProxy proxy(CuttingProxy::Protocol::postgres, port);
    std::atomic<int> passing{0};
    std::atomic<CommitFault> armed{CommitFault::none};
    proxy.on_commit([&](const ProxiedCommit&) {
        return passing-- > 0 ? CommitFault::none : armed.exchange(CommitFault::none);
    });
    options_.postgres.dsn = proxy.through(options_.postgres.dsn.reveal());
    options_.upstream.concurrency = 1;
    serve(made);
    ASSERT_EQ(ask("first"), "201 made body");
    const CommitFault faults[] = {CommitFault::cut_before, CommitFault::cut_after};
    for (int round = 0; round < 4; ++round) {
        passing = round / 2;  // the claim's COMMIT, then the end's
        armed = faults[round % 2];
        const std::string key = std::to_string(round);
        EXPECT_EQ(ask(key), "201 made body") << round;
        EXPECT_EQ(armed, CommitFault::none) << "the fault was not injected";
        EXPECT_EQ(ask(key), "replayed 201 made body") << round;
    }
    EXPECT_EQ(server_->calls().size(), 5U);
}

}  // namespace
}  // namespace onceward::support
