#pragma once
// One run of the demo on its stage: produces, lets the workers work, strikes them, and judges what
// is in the tables. Used by the thread that made the stage. What keeps the run from its end is a
// std::runtime_error; Interrupted where the user asked for it.

#include <cstdint>
#include <filesystem>
#include <stdexcept>

#include "lab/demo/report.h"
#include "lab/demo/stage.h"

namespace onceward::demo {

struct RunOptions {
    std::int64_t messages = 200'000;
    std::uint64_t seed = 1;
    int workers = 3;
    bool faults = true;
    std::filesystem::path program;  // `onceward`, which the workers run
};

class Interrupted : public std::runtime_error {
  public:
    Interrupted() : std::runtime_error("interrupted") {}
};

QueryResult run(const Stage& stage, const RunOptions& options, Progress& progress);

// What the dead letters hold, for a run that lost something: '' where they are empty.
std::string dead_letters(const Stage& stage);

}  // namespace onceward::demo
