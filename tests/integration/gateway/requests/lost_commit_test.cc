// A process is frozen after its COMMIT, and a fail-over loses that COMMIT. When the process runs
// again, a new request with the same key must not get the lost answer.

#include <gmock/gmock.h>

#include <future>

#include "dedup/operator/interventions.h"
#include "gateway/to_sink/sink_batcher.h"
#include "tests/integration/gateway/order_sink.h"
#include "tests/integration/gateway/upstream_scene.h"
#include "tests/support/core_harness.h"
#include "tests/support/eventually.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

// Once armed, stops the thread between the answer to its COMMIT and the answer to its request.
class AfterCommit {
  public:
    StepObserver& observer() { return hook_; }
    void arm() { armed_ = true; }
    bool is_frozen() { return frozen_.get_future().wait_for(30s) == std::future_status::ready; }
    void thaw() { thaw_.set_value(); }

  private:
    std::promise<void> frozen_, thaw_;
    std::atomic<bool> armed_{false};
    StepHook hook_{[this](Step step) {
        if (step != Step::after_commit || !armed_.exchange(false)) return;
        frozen_.set_value();
        thaw_.get_future().wait();
    }};
};

class LostCommitTest : public ::testing::TestWithParam<StoreKind> {
  protected:
    std::future<std::string> submit(const std::string& key) {
        auto promise = std::make_shared<std::promise<std::string>>();
        std::vector<KeyedRequest> requests;
        requests.push_back(order(key, "body"));
        batcher_->submit(std::move(requests), [promise](std::size_t, const KeyedOutcome& outcome) {
            promise->set_value(told_of(outcome));
        });
        return promise->get_future();
    }
    void start() {
        SinkBatcherOptions options = order_batcher(schema_, table_, GetParam());
        options.observer = &after_commit_.observer();
        options.wait = 20s;
        batcher_ = std::make_unique<SinkBatcher>(std::move(options));
    }
    // As a server that never had the COMMIT.
    void lose(const std::string& key) {
        Connection owner(schema_.owner());
        const Digest digest = order(key, "").digest;
        const auto ledger = schema_.database().number("SELECT ledger FROM ledgers");
        ASSERT_EQ(evict(owner, static_cast<int>(ledger), {&digest, 1}, "a fail-over", 10s), 1);
    }

    FreshSchema schema_;
    std::string table_ = order_table(schema_);
    AfterCommit after_commit_;
    std::unique_ptr<SinkBatcher> batcher_;
};

TEST_P(LostCommitTest, ARequestThatComesAfterItIsNotToldOfTheLostEffect) {
    start();
    ASSERT_EQ(submit("first").get(), "201 made first");
    after_commit_.arm();
    auto before = submit("k");
    ASSERT_TRUE(after_commit_.is_frozen());
    lose("k");
    auto after = submit("k");
    auto later = submit("k");
    after_commit_.thaw();
    EXPECT_EQ(before.get(), "201 made k") << "it was sent before the COMMIT";
    EXPECT_EQ(after.get(), "201 made k") << "the server knows nothing of the key";
    EXPECT_EQ(later.get(), "replayed 201 made k");
}

INSTANTIATE_TEST_SUITE_P(Stores, LostCommitTest,
                         ::testing::Values(StoreKind::table, StoreKind::log),
                         [](const auto& store) {
                             return store.param == StoreKind::table ? "Table" : "Log";
                         });

class LostAnswerTest : public UpstreamScene {};

TEST_F(LostAnswerTest, ARequestThatComesAfterItIsNotToldTheLostAnswer) {
    AfterCommit after_commit;
    options_.observer = &after_commit.observer();
    options_.wait = 20s;
    serve(made);
    ASSERT_EQ(ask("first"), "201 made body");
    after_commit.arm();
    auto before = submit(order("k", "body"));
    ASSERT_TRUE(after_commit.is_frozen());
    schema_.database().execute("DELETE FROM leases WHERE digest = '" +
                               uuid_text(order("k", "").digest) + "'; DELETE FROM results_1_1");
    auto after = submit(order("k", "body"));
    after_commit.thaw();
    EXPECT_EQ(before.get(), "201 made body") << "it was sent before the COMMIT";
    EXPECT_EQ(after.get(), "201 made body") << "the server knows nothing of the key";
    EXPECT_EQ(server_->calls().size(), 3U);
}

// Its claim was lost, so that another process may have called under the key since.
TEST_F(LostAnswerTest, ARequestThatComesDuringTheCallIsNotToldHowThatEnded) {
    options_.wait = 20s;
    std::promise<void> go;
    const std::shared_future<void> gone = go.get_future().share();
    std::atomic<bool> turned_down{false};
    serve([&](const RecordedCall& call, int number) {
        if (call.body != "held" || turned_down.exchange(true)) return made(call, number);
        gone.wait();
        return RecordedAnswer{.status = 429, .body = "no"};
    });
    ASSERT_EQ(ask("first"), "201 made body");
    auto before = submit(order("k", "held"));
    ASSERT_TRUE(eventually(20s, [&] { return server_->calls().size() == 2; }));
    auto after = submit(order("k", "held"));
    go.set_value();
    EXPECT_EQ(before.get(), "429 no");
    EXPECT_EQ(after.get(), "201 made held");
    EXPECT_EQ(server_->calls().size(), 3U);
}

}  // namespace
}  // namespace onceward::support
