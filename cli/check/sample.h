#pragma once
// What `check --sample` does: takes some of each topic's newest records through decoder, key and
// sink, and says what would become of each. It writes nothing, joins no group and shows no payload.
// Used by one thread. Failures are KafkaErrors, PostgresErrors, FormatErrors and SinkMismatches.

#include <string>
#include <vector>

#include "cli/configuration/configuration.h"

namespace onceward {

struct SampledRecord {
    std::string topic;
    int partition = 0;
    std::int64_t offset = 0;
    // applied | duplicate | rejected | skipped: what would happen; known: it was applied already.
    std::string outcome;
    std::string reason;  // where the original is, or why; may be ''
    std::string digest;  // of its key; '' without one
};

// Up to `count` records of each topic. REQUIRES: check_brokers() and check_database() found no
// error.
std::vector<SampledRecord> sample_records(const Configuration& configuration, int count);

}  // namespace onceward
