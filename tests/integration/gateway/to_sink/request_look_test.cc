// What the owner of a key is told once its answer is gone, with each store of claims.

#include <gmock/gmock.h>

#include <future>

#include "dedup/operator/interventions.h"
#include "dedup/retention/sealing.h"
#include "gateway/to_sink/sink_batcher.h"
#include "tests/integration/gateway/order_sink.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

class RequestLook : public ::testing::TestWithParam<StoreKind> {
  protected:
    RequestLook() { start(); }
    // Another process.
    void start() {
        batcher_ = std::make_unique<SinkBatcher>(order_batcher(schema_, table_, GetParam()));
    }
    static KeyedRequest request(const std::string& key) {
        KeyedRequest made = order(key, "body");
        made.tenant = "acme";
        return made;
    }
    void carry_out(const std::string& key) {
        std::vector<KeyedRequest> requests;
        requests.push_back(request(key));
        std::promise<void> answered;
        batcher_->submit(std::move(requests),
                         [&](std::size_t, const KeyedOutcome&) { answered.set_value(); });
        answered.get_future().get();
    }
    HttpResponse look(const std::string& key) {
        std::promise<HttpResponse> told;
        batcher_->look(0, request(key).digest, [&](const StatusOutcome& outcome) {
            told.set_value(status_response(outcome));
        });
        return told.get_future().get();
    }
    int ledger() {
        return static_cast<int>(schema_.database().number("SELECT ledger FROM ledgers"));
    }
    void erase() {
        Connection owner(schema_.owner());
        ASSERT_EQ(erase_results(owner, ledger(), "acme", "asked to", 10s), 1);
    }

    FreshSchema schema_;
    std::string table_ = order_table(schema_);
    std::unique_ptr<SinkBatcher> batcher_;
};

TEST_P(RequestLook, AnAnswerThatWasErasedIsGoneAndTheKeyIsKnown) {
    carry_out("a");
    EXPECT_EQ(look("a").status, 200);
    erase();
    for (const bool same_process : {true, false}) {
        if (!same_process) start();
        const HttpResponse gone = look("a");
        EXPECT_EQ(gone.status, 410) << same_process;
        EXPECT_THAT(gone.body, testing::HasSubstr("/onceward/problems/answer-gone"));
        EXPECT_EQ(look("b").status, 404) << same_process;
    }
    carry_out("b");
    EXPECT_EQ(look("b").status, 200) << "of the others the answers are told";
    EXPECT_EQ(look("a").status, 410);
}

TEST_P(RequestLook, AlsoOfAClaimInASealedGeneration) {
    carry_out("a");
    erase();
    schema_.database().execute("SELECT rotate_ledger($1, 1)", {std::to_string(ledger())});
    EXPECT_EQ(look("a").status, 410);
    if (GetParam() == StoreKind::log) {
        Connection worker(schema_.worker());
        ASSERT_TRUE(seal_oldest(worker, ledger()).sealed);
    }
    start();
    EXPECT_EQ(look("a").status, 410);
    EXPECT_EQ(look("b").status, 404);
}

TEST_P(RequestLook, AKeyThatWasForgottenIsKnownNoLonger) {
    carry_out("a");
    erase();
    EXPECT_EQ(look("a").status, 410);
    Connection owner(schema_.owner());
    const Digest digest = request("a").digest;
    ASSERT_EQ(evict(owner, ledger(), {&digest, 1}, "it was a test", 10s), 1);
    EXPECT_EQ(look("a").status, 404);
}

INSTANTIATE_TEST_SUITE_P(Stores, RequestLook, ::testing::Values(StoreKind::table, StoreKind::log),
                         [](const auto& store) {
                             return store.param == StoreKind::table ? "Table" : "Log";
                         });

}  // namespace
}  // namespace onceward::support
