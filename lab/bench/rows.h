#pragma once
// Measures rows: each ratio's two sides in turn, A B A B ... . Used by one thread. A row that
// cannot be measured says why in its result; nothing else is thrown but std::bad_alloc.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lab/bench/consumption.h"
#include "lab/bench/measurement.h"
#include "lab/embedded/private_postgres.h"

namespace onceward::bench {

struct Extent {
    std::int64_t messages = 1'000'000;       // of a run
    std::int64_t single_messages = 20'000;   // of a run with a transaction each
    std::int64_t claims = 100'000'000;       // that a loaded ledger holds
    std::chrono::milliseconds idle{10'000};  // how long an idle worker is observed
    std::chrono::milliseconds steady{10'000};  // how long a steady load is measured
    int timed_messages = 500;                // of a run that times each
    int partitions = 4;                      // at least 4
    int pairs = 5;
    BatchLimits batch;
};
// Enough to see that every row runs, and nothing more.
Extent quick_extent();

struct Setup {
    Place place;
    ConnectionOptions postgres;  // may make schemas and tables
    Extent extent;
    std::filesystem::path folder;  // where an fsync is timed
    std::filesystem::path peers;   // the folder of the programs to compare with; may be empty
    std::function<void(const std::string&)> progress;
};

// The private server that the rows are measured on.
PrivatePostgresOptions bench_server();

// In the order of targets(). REQUIRES: each of them is one of measured_rows(), with peers only
// where their folder is named.
std::vector<RowResult> measure(const Setup& setup, const std::vector<std::string>& rows);

}  // namespace onceward::bench
