#pragma once
// Whether a soak's curves stayed flat. Pure; plain values. std::invalid_argument if there are too
// few samples to say.

#include <cstdint>
#include <string>
#include <vector>

#include "lab/soak/curves.h"

namespace onceward::soak {

struct Finding {
    const Curve* curve = nullptr;
    double early = 0;    // median of the second quarter of the time: the first one is warm-up
    double late = 0;     // median of the last quarter
    double maximum = 0;  // after the warm-up
    bool grew = false;
    bool exceeded = false;
    bool flat() const { return !grew && !exceeded; }
};

// One for each curve, in their order.
std::vector<Finding> judge(const Series& series);

// Why a soak failed, a line for each curve; '' if it did not.
std::string complaint(const std::vector<Finding>& findings);

// What became of the messages.
struct Count {
    std::int64_t produced = 0;
    std::int64_t applied = 0;     // rows that were taken from the sink
    std::int64_t duplicates = 0;  // by the fences
    std::int64_t lost = 0;        // keys without a row
    std::int64_t twice = 0;       // rows of keys that had one
    std::int64_t unknown = 0;     // rows of keys that were never sent
    bool good() const {
        return lost == 0 && twice == 0 && unknown == 0 && produced == applied + duplicates;
    }
};
std::string to_text(const Count& count);

}  // namespace onceward::soak
