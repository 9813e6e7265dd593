#pragma once
// What one measured run gave, and what a row's runs give together. Pure; plain values.

#include <cstdint>
#include <string>
#include <vector>

#include "lab/bench/cpu.h"
#include "lab/bench/statistics.h"
#include "lab/bench/targets.h"

namespace onceward::bench {

// Seconds, one of each for each transaction.
struct CommitTimes {
    std::vector<double> commits;       // from when COMMIT is sent to its answer
    std::vector<double> transactions;  // from before BEGIN to COMMIT's answer
};

struct Measurement {
    std::int64_t messages = 0;  // that were measured
    std::int64_t applied = 0;   // of all, those before the measuring began included
    double seconds = 0;
    CpuTimes cpu;
    std::int64_t wal_bytes = 0;
    CommitTimes times;
    int scrapes = 0;  // of metrics meanwhile
    double rate() const { return static_cast<double>(messages) / seconds; }
    double wal_bytes_per_message() const {
        return static_cast<double>(wal_bytes) / static_cast<double>(messages);
    }
};

std::vector<double> rates(const std::vector<Measurement>& runs);
std::vector<double> wal_bytes(const std::vector<Measurement>& runs);  // a message
// The 99th percentile of each run.
std::vector<double> p99s(const std::vector<Measurement>& runs,
                         std::vector<double> CommitTimes::*times);

// One of the settings that a row compares.
struct Line {
    std::string setting;
    Summary rate;    // messages a second
    CpuTimes cpu;    // seconds a million messages, medians; NaN: not known
    double wal = 0;  // bytes a message, median
};
Line line(std::string setting, const std::vector<Measurement>& runs);

struct Outcome {
    const Target* target = nullptr;
    Summary value;
    bool reached() const { return bench::reached(*target, value.median); }
};

// How long messages took under one load, in milliseconds: medians of the runs.
struct LoadLatency {
    std::string load;
    double p50 = 0;
    double p99 = 0;
    double p999 = 0;
};

struct RowResult {
    std::string_view row;
    std::string setting;  // one sentence: messages, batch, how often
    std::vector<Outcome> outcomes;
    std::vector<Line> lines;
    std::vector<LoadLatency> latencies;  // of row 19
    std::vector<std::string> notes;      // what must be known in addition to the ratio
    std::string failure;                 // why there is none of this; '' where there is
};

}  // namespace onceward::bench
