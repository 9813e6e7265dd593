#pragma once
// Sends messages at a fixed rate, however slow their consumer is, so that a pause of the consumer
// counts for each message that had to wait (no "coordinated omission"). Used by one thread;
// failures are ProducerErrors and std::runtime_errors.

#include <chrono>
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

// Sends all messages of `workload`, `rate` a second, and returns when the broker has acknowledged
// all of them. Each payload's `created_at` is the time at which it should have been sent. The first
// message of each partition is sent before the load begins. Throws if the producer itself was late
// by more than a second: then the load was another one.
LoadTimes send_steadily(const std::string& bootstrap_servers, const Workload& workload,
                        double rate);

}  // namespace onceward::bench
