#pragma once
// A Kafka cluster inside this process, made by librdkafka for tests and demos: topics, consumer
// groups, offset commits and injected errors, no admin requests. Other processes reach it over
// 127.0.0.1 and lose it when this one ends. Thread-safe. It trims a partition at 5 MiB or 100,000
// message sets, even if nobody has read them. Bad arguments and librdkafka's refusals are
// std::runtime_errors.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "dedup/base/types.h"

namespace onceward {

struct MockClusterOptions {
    int brokers = 1;
    // How long a new group waits for more members before its first assignment. Short: several quick
    // rebalances instead.
    std::chrono::milliseconds initial_rebalance_delay{100};
    // What the members of a group under KIP-848 are told: how often they send a heartbeat, and when
    // one that sends none is removed.
    std::chrono::milliseconds heartbeat_interval{3'000};
    std::chrono::milliseconds session_timeout{30'000};
};

class MockCluster {
  public:
    // The protocol's own numbers, for push_errors().
    enum class Request : std::int16_t {
        produce = 0,
        fetch = 1,
        list_offsets = 2,
        metadata = 3,
        offset_commit = 8,
        offset_fetch = 9,
        find_coordinator = 10,
        join_group = 11,
        heartbeat = 12,
        sync_group = 14,
        init_producer_id = 22,
    };
    // Below this many bytes of unread records no partition is trimmed.
    static constexpr std::size_t partition_bytes_max = 5 * 1024 * 1024;

    explicit MockCluster(MockClusterOptions options = {});
    ~MockCluster();

    // `127.0.0.1:port,...`
    std::string bootstrap_servers() const;
    void create_topic(const std::string& topic, std::int32_t partitions);
    // Brokers are numbered from 1.
    void set_leader(const TopicPartition& partition, std::int32_t broker);
    // Down: its connections are cut and new ones refused until it is up again.
    void set_broker_down(std::int32_t broker);
    void set_broker_up(std::int32_t broker);
    // Every answer of this broker takes so long from now on.
    void set_round_trip(std::int32_t broker, std::chrono::milliseconds duration);
    // The next requests of this kind fail, one for each of these error codes of the protocol, in
    // this order.
    void push_errors(Request request, std::span<const int> codes);
    // From now on requests are kept, for received().
    void keep_requests();
    // How many requests of this kind came since then.
    std::size_t received(Request request) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace onceward
