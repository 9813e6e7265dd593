#pragma once
// What became of a message, and the totals that the fence's row keeps. Plain values.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/base/types.h"
#include "dedup/message/digest.h"

namespace onceward {

// The ledger's verdict on a key. `conflict`: the key was claimed with another fingerprint.
enum class Verdict : std::uint8_t { fresh, duplicate, conflict };

// Where a claim came from. A log knows the first and the last offset of a batch in each of its
// partitions; elsewhere they are the same.
struct ClaimPlace {
    std::string consumer_group;
    std::string topic;  // both '' where the ledger knows the topic no more
    Partition partition;
    Offset first;
    Offset last;
    friend bool operator==(const ClaimPlace&, const ClaimPlace&) = default;
};

// What a message in conflict has met.
struct EarlierClaim {
    Digest fingerprint;
    std::vector<ClaimPlace> places;  // it is at one of them; empty if the ledger cannot tell
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
