// A worker whose message waits for something that is not there yet.

#include <gtest/gtest.h>

#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;

class Waiting : public testing::Test {
  protected:
    // Message 10 has no parent yet; two partitions in turn.
    Waiting() {
        scene_.schema().user_table("parents", "id bigint PRIMARY KEY");
        scene_.database().execute(
            "INSERT INTO parents SELECT n FROM generate_series(0, 999) n WHERE n <> 10; "
            "ALTER TABLE effects ADD FOREIGN KEY (id) REFERENCES parents");
        WorkerOptions options = scene_.options();
        options.topics[0].reject.retries = 1000;
        options.topics[0].reject.retry_backoff = 200ms;
        worker_ = &scene_.start(std::move(options));
        scene_.send(60);
        // The whole of the other partition, and of its own what stands before it.
        EXPECT_TRUE(eventually(
            patience, [&] { return scene_.next_offset(1) == 30 && scene_.next_offset(0) == 5; }));
    }
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

TEST_F(Waiting, ARevokeDoesNotWaitForIt) {
    const CapturedLog log;
    // A pause of many seconds by now, most likely; leaving takes none of them.
    EXPECT_TRUE(log.says("message.waits"));
    const auto begin = std::chrono::steady_clock::now();
    scene_.stop(*worker_);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
    EXPECT_EQ(scene_.next_offset(0), 5);
    scene_.database().execute("INSERT INTO parents VALUES (10)");
    scene_.start();
    scene_.expect_all_once();
}

}  // namespace
}  // namespace onceward::kafka_tests
