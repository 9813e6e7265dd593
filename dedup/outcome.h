#pragma once
// What became of a message, and the totals that the fence's row keeps. Plain values.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dedup/types.h"

namespace onceward {

// The ledger's word on a message's key. `conflict`: the key was claimed with another fingerprint.
enum class Verdict : std::uint8_t { fresh, duplicate, conflict };

// Where an earlier claim of the same key came from; known where the ledger can tell at no further
// cost.
struct ClaimPlace {
    std::string topic;
    Partition partition;
    Offset offset;
};

// I16: every message ends in exactly one of these.
struct Totals {
    std::int64_t applied = 0;
    std::int64_t duplicates = 0;
    std::int64_t conflicts = 0;
    std::int64_t dead_lettered = 0;
    std::int64_t skipped = 0;
    std::int64_t passed() const {
        return applied + duplicates + conflicts + dead_lettered + skipped;
    }
    Totals& operator+=(const Totals& other);
    friend bool operator==(const Totals&, const Totals&) = default;
};

}  // namespace onceward
