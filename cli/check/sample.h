#pragma once
// What `check --sample` does: takes some of each topic's newest records through decoder, key and
// sink, and says what would become of each. It writes nothing, joins no group and shows no payload.
// Used by one thread. Failures are KafkaErrors, PostgresErrors, FormatErrors and SinkMismatches.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/check/connect.h"

namespace onceward {

struct SampledRecord {
    std::string topic;
    int partition = 0;
    std::int64_t offset = 0;
    // applied | duplicate | conflict | rejected | skipped: what would happen; known: it was applied
    // already.
    std::string outcome;
    std::string reason;            // where the original is, or why; may be ''
    std::string digest;            // of its key; '' without one
    std::string fingerprint = {};  // '' without one
};

// Where a claim came from and when. A log knows the first and the last offset of a batch in each of
// its partitions; elsewhere they are the same.
struct KnownClaim {
    std::string topic;
    std::int64_t partition = 0;
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::string time;
    std::string fingerprint = {};  // '' without one
};
// By the digest as PostgreSQL prints it.
using KnownClaims = std::multimap<std::string, KnownClaim, std::less<>>;

// Finds the duplicates and conflicts among the records that would be applied: of claims, and of
// each other. With Reach::partition only what came in the record's own partition counts. Pure.
void find_duplicates(std::vector<SampledRecord>& records, const KnownClaims& known, Reach reach);

struct SpreadKeys {
    std::size_t keys = 0;           // that the sample has
    std::size_t in_partitions = 0;  // of these, seen in two partitions or more
    std::string example;            // two places of one of them; '' if there is none
};

// In how many partitions the sample's keys were seen, in the sample itself or in their claims.
// Pure.
SpreadKeys find_spread_keys(const std::vector<SampledRecord>& records, const KnownClaims& known);

struct Sample {
    std::vector<SampledRecord> records;
    ConnectResult spread;  // of topics with `reach: partition`: whether keys keep to a partition
};

// Up to `count` records of each topic of one server: see by_database(). REQUIRES: check_brokers()
// and check_database() found no error.
Sample sample_records(const Configuration& configuration, int count);

}  // namespace onceward
