#pragma once
// Sends messages at a fixed rate, however slow their consumer is, so that a pause of the consumer
// counts for each message that had to wait (no "coordinated omission"). Used by one thread;
// failures are ProducerErrors and LateProducer.

#include <chrono>
#include <stdexcept>
#include <string>

#include "lab/bench/schedule.h"
#include "lab/bench/workload.h"

namespace onceward::bench {

// When messages of a load should have been sent: the first one, and the end.
struct LoadTimes {
    Schedule::Time begin;
    Schedule::Time end;
    // How late the producer itself was at most. The latency of those messages includes it.
    Schedule::Time::duration latest{};
};

// The producer itself was late by more than a second: then the load was another one.
struct LateProducer : std::runtime_error {
    LateProducer() : std::runtime_error("the producer cannot send as fast as it should") {}
};

// Sends all messages of `workload`, `rate` a second, and returns when the broker has acknowledged
// all of them. Each payload's `created_at` is the time at which it should have been sent. The first
// message of each partition is sent before the load begins.
LoadTimes send_steadily(const std::string& bootstrap_servers, const Workload& workload,
                        double rate);

}  // namespace onceward::bench
