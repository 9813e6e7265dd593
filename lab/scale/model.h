#pragma once
// How the cost of a message depends on the number of processes and of servers: docs/scale.md's
// model, fitted to measured points. Pure; plain values.

#include <functional>
#include <span>
#include <vector>

#include "lab/bench/cpu.h"

namespace onceward::scale {

struct Point {
    int servers = 1;
    int processes = 1;    // on all servers together, a worker each
    double rate = 0;      // messages a second
    bench::CpuTimes cpu;  // seconds a million messages
    double batch = 0;     // messages of a transaction, on average
    double busy = 0;      // cores, by whatever ran on the machine meanwhile

    // Further processes, and those of them whose claims each process reads.
    double more() const { return processes - 1.0; }
    double others() const { return static_cast<double>(processes) / servers - 1; }
    double total() const { return cpu.worker + cpu.postgres + cpu.broker; }
};

// CPU seconds a million messages: `alone`, `process` for each further process, wherever its server
// is, and `reading` for each other process of the same server.
struct Cost {
    double alone = 0;
    double process = 0;
    double reading = 0;
    double of(const Point& point) const;
};

// By least squares of the relative errors. std::invalid_argument if the points do not determine the
// constants: it takes points on one server and on two.
Cost fit(std::span<const Point> points, const std::function<double(const Point&)>& cost);

// What `cores` can do, with so many seconds a million messages.
double predicted_rate(double cores, double seconds_a_million);

}  // namespace onceward::scale
