#pragma once
// A soak: the release program under a steady load for a long time, on a broker and a private
// PostgreSQL, watched. Used by the thread that calls it; failures are exceptions.

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "lab/soak/curves.h"
#include "lab/soak/verdict.h"

namespace onceward::soak {

struct Options {
    std::string bootstrap_servers;
    std::filesystem::path broker_folder;  // its files, to measure them
    std::chrono::minutes time{100};
    double rate = 45'000;  // messages a second
    std::chrono::minutes retention{10};
    // The CSV, written again with each sample, so that a run that is cut off leaves what it saw.
    std::filesystem::path csv;
};

// Returns when all messages have been committed and counted. `progress` gets a line a minute.
// `series` has the facts already; samples are added.
Count run(const Options& options, Series& series,
          const std::function<void(const std::string&)>& progress);

}  // namespace onceward::soak
