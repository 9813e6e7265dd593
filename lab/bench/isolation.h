#pragma once
// Claims and rows without Kafka: the processor with prepared batches, and a plain COPY to compare
// with. Used by one thread; failures are exceptions.

#include "dedup/message/batch.h"
#include "lab/bench/measurement.h"
#include "lab/bench/tables.h"

namespace onceward::bench {

// The product's processor with a `log` ledger, reach global, and its table sink: fence, claims,
// rows, COMMIT. Digests and encoded rows are ready; making them is not measured.
Measurement write_by_processor(const CpuMeter& cpu, Tables& tables, std::int64_t messages,
                               const BatchLimits& batch);

// The same rows by binary COPY, ready too, a COPY a batch, into the table with a primary key.
Measurement copy_into_keyed_table(const CpuMeter& cpu, Tables& tables, std::int64_t messages,
                                  const BatchLimits& batch);

}  // namespace onceward::bench
