#pragma once
// When a generation is sealed. Pure; the caller brings ages by the database's clock, since claims
// carry that one.

#include <chrono>
#include <cstdint>
#include <string_view>

#include "dedup/ledger/ledger_options.h"

namespace onceward {

struct CurrentGeneration {
    std::int64_t generation = 0;
    std::chrono::milliseconds age{0};
    std::int64_t claims = 0;  // counted while they are few, otherwise estimated
};

enum class Rotation : std::uint8_t { keep, by_age, by_size };
std::string_view to_text(Rotation rotation);

// Claims in a table of this size. A row is 64 bytes and its line pointer 4 where it has no
// fingerprint; with one it is 16 more, so that the estimate is a quarter too high there and seals
// sooner. A log's claim is 16 bytes and its share of a batch of thousands; where batches are small,
// or with fingerprints, that estimate is too high as well.
std::int64_t estimated_claims(std::int64_t bytes, StoreKind store = StoreKind::table);

// An empty generation is kept at any age: sealing it would cost every batch one more probe, for
// nothing.
Rotation rotation_due(const CurrentGeneration& current, const LedgerOptions& options);

// Whether a time of the day is within the hours.
bool within(const DailyHours& hours, std::chrono::minutes of_day);

}  // namespace onceward
