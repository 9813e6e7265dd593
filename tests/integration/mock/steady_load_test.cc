#include "lab/bench/steady_load.h"

#include <gtest/gtest.h>

#include "lab/kafka/mock_cluster.h"

namespace onceward::bench {
namespace {

using namespace std::chrono_literals;

class SteadyLoad : public testing::Test {
  protected:
    SteadyLoad() {
        workload_.topic = "loaded";
        cluster_.create_topic(workload_.topic, workload_.partitions);
    }
    LoadTimes send(std::int64_t messages, double rate) {
        workload_.messages = messages;
        return send_steadily(cluster_.bootstrap_servers(), workload_, rate);
    }

    MockCluster cluster_;
    Workload workload_;
};

TEST_F(SteadyLoad, BeginsWhenTheProducerIsConnectedAndHasSent) {
    constexpr auto round_trip = 100ms;
    cluster_.set_round_trip(1, round_trip);
    const auto called = std::chrono::system_clock::now();
    const LoadTimes times = send(404, 4'000);
    // The brokers' names, the producer's id and the first messages are a round trip each.
    EXPECT_GE(times.begin - called, 3 * round_trip);
    EXPECT_EQ(times.end - times.begin, 100ms);
}

TEST_F(SteadyLoad, MessagesShareRequestsThoughEachIsSentInTime) {
    cluster_.keep_requests();
    const LoadTimes times = send(2'004, 20'000);
    EXPECT_EQ(times.end - times.begin, 100ms);
    // A request of each partition each 5 ms are 80. One for each slice and partition were 400.
    EXPECT_LE(cluster_.received(MockCluster::Request::produce), 160U);
}

// What it sends after that would be another load than the one that is asked for.
TEST_F(SteadyLoad, ARateThatNoProducerReachesIsGivenUpAfterASecond) {
    const auto called = std::chrono::steady_clock::now();
    EXPECT_THROW(send(1'000'000'000, 1e9), LateProducer);
    EXPECT_LT(std::chrono::steady_clock::now() - called, 30s);
}

}  // namespace
}  // namespace onceward::bench
