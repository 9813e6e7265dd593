#pragma once
// What `check --sample` does: takes some of each topic's newest records through decoder, key and
// sink, and says what would become of each. It writes nothing, joins no group and shows no payload.
// Used by one thread. Failures are KafkaErrors, PostgresErrors, FormatErrors and SinkMismatches.

#include <vector>

#include "cli/check/connect.h"
#include "cli/check/sample_verdicts.h"

namespace onceward {

struct Sample {
    std::vector<SampledRecord> records;
    ConnectResult spread;  // of topics with `reach: partition`: whether keys keep to a partition
};

// Up to `count` records of each topic of one server: see by_database(). REQUIRES: check_brokers()
// and check_database() found no error.
Sample sample_records(const Configuration& configuration, int count);

}  // namespace onceward
