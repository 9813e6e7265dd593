#pragma once
// Whether the tables hold what was produced, compared both ways and key by key. Pure: it sees the
// producer's own list and the rows of the user's tables, nothing that the product says of itself.

#include <cstdint>
#include <span>

#include "lab/demo/workload.h"

namespace onceward::demo {

// A key that is in a topic's table, and in how many rows.
struct AppliedKey {
    Topic topic = Topic::payments;
    Digest key;
    std::int64_t rows = 0;
};

// produced = applied + duplicates + lost.
struct Verdict {
    std::int64_t produced = 0;     // messages
    std::int64_t unique_keys = 0;  // among them
    std::int64_t applied = 0;      // keys with a row
    std::int64_t duplicates = 0;   // the other messages of these keys
    std::int64_t lost = 0;         // messages of keys without a row
    std::int64_t twice = 0;        // rows beyond one for each key
    std::int64_t unknown = 0;      // rows of keys that were never produced for that topic
    bool good() const { return lost == 0 && twice == 0 && unknown == 0; }
};

Verdict judge(std::span<const ProducedKey> produced, std::span<const AppliedKey> applied);

}  // namespace onceward::demo
