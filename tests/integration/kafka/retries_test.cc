// A worker whose message waits for something that is not there yet.

#include <gtest/gtest.h>

#include <future>

#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;

class Waiting : public testing::Test {
  protected:
    // Message 10 has no parent yet; two partitions in turn. `backoff`: the first pause.
    explicit Waiting(milliseconds backoff = 200ms) {
        scene_.schema().user_table("parents", "id bigint PRIMARY KEY");
        scene_.database().execute(
            "INSERT INTO parents SELECT n FROM generate_series(0, 999) n WHERE n <> 10; "
            "ALTER TABLE effects ADD FOREIGN KEY (id) REFERENCES parents");
        WorkerOptions options = scene_.options();
        options.topics[0].reject.retries = 1000;
        options.topics[0].reject.retry_backoff = backoff;
        worker_ = &scene_.start(std::move(options));
        scene_.send(60);
        // The whole of the other partition, and of its own what stands before it.
        EXPECT_TRUE(eventually(
            patience, [&] { return scene_.next_offset(1) == 30 && scene_.next_offset(0) == 5; }));
    }
    const CapturedLog log_;  // from before the worker's first word
    Scene scene_{{.partitions = 2}};
    Worker* worker_ = nullptr;
};

TEST_F(Waiting, ItsPartitionWaitsAndGoesOnInOrderWhenItIsThere) {
    EXPECT_TRUE(
        stays(1s, [&] { return scene_.next_offset(0) == 5 && worker_->status().partitions == 2; }));
    EXPECT_EQ(scene_.database().number("SELECT count(*) FROM dead_letters"), 0);
    scene_.database().execute("INSERT INTO parents VALUES (10)");
    scene_.expect_all_once();
}

class WaitingLong : public Waiting {
  protected:
    WaitingLong() : Waiting(10min) {}
};

TEST_F(WaitingLong, ARevokeDoesNotWaitForIt) {
    EXPECT_TRUE(log_.says("message.waits"));
    const auto left = std::async(std::launch::async, [&] { scene_.stop(*worker_); });
    ASSERT_EQ(left.wait_for(patience), std::future_status::ready);
    EXPECT_EQ(scene_.next_offset(0), 5);
    scene_.database().execute("INSERT INTO parents VALUES (10)");
    scene_.start();
    scene_.expect_all_once();
}

}  // namespace
}  // namespace onceward::kafka_tests
