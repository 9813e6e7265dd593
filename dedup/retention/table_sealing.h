#pragma once
// Makes a segment of a sealed generation of a `table` ledger, for a conversion. Used by one thread;
// failures are PostgresErrors and leave only what the next try discards.

#include <cstdint>

#include "dedup/postgres/connection.h"
#include "dedup/retention/conversion.h"

namespace onceward {

// False: a claim was taken out meanwhile, and the segment is not ready. `first`: the number of its
// first batch.
bool seal_table(Connection& connection, int ledger, const ConversionPlan::Generation& generation,
                const ConversionOptions& options, std::int64_t first);

// Writes the filter of the generation that was open at the switch. Until then each key is looked up
// in that segment: slower, and never wrong.
void write_missing_filters(Connection& connection, int ledger);

}  // namespace onceward
