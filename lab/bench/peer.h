#pragma once
// Another program that consumes a topic into a table, measured as workers are. Used by one thread;
// failures are exceptions that quote the end of the program's output.

#include <filesystem>
#include <string>

#include "lab/bench/consumption.h"
#include "lab/bench/measurement.h"
#include "lab/bench/tables.h"
#include "lab/bench/workload.h"

namespace onceward::bench {

// What the program gets in its environment, besides libpq's own variables (PGHOST and so on):
// ONCEWARD_PEER_BROKERS, _TOPIC, _GROUP, _TABLE, _CLAIMS (a table of claims), _SCHEMA (Onceward's),
// _MESSAGES (all that the topic holds) and _LAST_KEYS (those of the last message of each partition,
// `{key,key}`). It ends with 0 as soon as the last row is committed, and what it started ends with
// it.
struct Peer {
    std::filesystem::path program;
    const char* table = "";  // that it writes to
    // The share of its rows that arrive before the clock runs.
    double not_measured = 0.2;
};

// From the moment when the first share of rows can be seen, or that a COPY has taken them, to the
// program's end.
Measurement consume_by_peer(const Place& place, const Workload& workload, const Peer& peer,
                            Tables& tables);

}  // namespace onceward::bench
