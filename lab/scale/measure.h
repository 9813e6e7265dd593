#pragma once
// Measures how fast processes of one worker each empty a topic, on one server or on several. Used
// by one thread, which must live as long as the servers. Failures are exceptions.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lab/bench/consumption.h"
#include "lab/bench/worker_process.h"
#include "lab/scale/model.h"

namespace onceward::scale {

struct Server {
    pid_t pid = 0;
    ConnectionOptions connection;
};

struct Setup {
    bench::Place place;
    std::vector<Server> servers;
    std::int64_t messages = 1'000'000;  // of a run, on all servers together
    int partitions = 8;                 // of a topic
};

// A point's medians of so many runs of it.
Point medians(const std::vector<Point>& runs);

// `servers` of them, each with its share of the processes, and with a topic and a group of its own:
// a topic has one PostgreSQL. A twentieth of the messages more warms the processes up, which then
// stand still while the topics are filled. REQUIRES: `processes` is a multiple of `servers`.
Point measure(const Setup& setup, int servers, int processes);

}  // namespace onceward::scale
