#pragma once
// Times of single operations, in seconds: a message's way through an idle worker, a commit, an
// fsync. Used by one thread; failures are exceptions.

#include <filesystem>
#include <vector>

#include "lab/bench/consumption.h"

namespace onceward::bench {

struct Times {
    std::vector<double> visible;  // from the produce's acknowledgement to the row's visibility
    std::vector<double> commits;  // of one row, in a session of its own
};

// In turn: one commit, one message, so many of both. The worker has nothing else to do.
Times time_messages(const Place& place, const Workload& empty_topic, const Plan& plan,
                    Tables& tables, int messages);

// So many commits of one row each, one after another, in a session of their own.
std::vector<double> time_commits(Tables& tables, int commits);

// The median time of appending one block to a file in this folder, with fsync.
double time_fsync(const std::filesystem::path& folder);

}  // namespace onceward::bench
