#pragma once
// The scene file: where the evidence of a run is, and how the run was set up. JSON; members that
// are left out have the defaults of the structs; unknown ones are refused.
//   {"postgres": {"dsn": "...", "schema": "onceward", "sinks": [{"topic": "payments",
//        "table": "app.payments", "id": "message_id", "partition": "kafka_partition",
//        "offset": "kafka_offset", "landed": "landed", "key": "key", "target": "",
//        "topic_column": "", "transaction": ""}]},
//    "kafka": {"bootstrap_servers": "...", "id_header": "message-id", "properties": {}},
//    "group": "payments-writer",
//    "produced": "produced.ndjson",
//    "published": "payments-done", "calls": "calls.ndjson",
//    "requests": {"file": "requests.ndjson", "table": "app.request_effects"},
//    "operators": "operators.ndjson",
//    "topics": [{"name": "payments", "operation": "", "ledger": "", "reach": "global",
//        "upsert": false, "compacted": false, "fingerprints": false, "published": false,
//        "leases": false, "key_in_payload": true, "tombstones": "reject",
//        "without_key": "reject"}],
//    "retention_ms": 60000, "failed_over": false, "committed_offset_moved": false,
//    "lost": {"from_us": 0, "to_us": 0},
//    "rewound": false, "one_session_each": true,
//    "halted": [{"topic": "payments", "partition": 1, "said": true}],
//    "troubles": [{"topic": "payments", "from_us": 0, "to_us": 0}],
//    "standstills": [{"topic": "payments", "from_us": 0}],
//    "secrets": {"folder": ".", "canaries": ["..."], "except": ["onceward.yaml"]},
//    "sample": {"pids": [1234], "every_ms": 500, "owners_every": 1, "budgets": {"rss_kib": 65536,
//        "fds": 16, "threads": 4, "connections": 4}}}
// Paths are relative to the scene file's folder. Mistakes are std::runtime_errors.

#include <filesystem>
#include <string>
#include <vector>

#include "tests/faults/checker/load_kafka.h"
#include "tests/faults/checker/load_postgres.h"
#include "tests/faults/checker/samplers.h"

namespace onceward::checker {

struct Scene {
    DatabaseSource postgres;
    KafkaSource kafka;
    std::filesystem::path produced;
    std::string published;                 // the topic that effects are published to; empty: none
    std::filesystem::path calls;           // empty: none were made
    std::filesystem::path requests;        // empty: none were sent
    std::filesystem::path operators;       // what was done to keys; empty: nothing
    std::string request_table;             // where they take effect
    std::filesystem::path secrets_folder;  // empty: not checked
    std::vector<std::string> canaries;
    std::vector<std::string> secrets_except;  // files that hold the secret on purpose
    SampleOptions sample;
    Evidence evidence;  // settings, topics and halted partitions alone
};

Scene read_scene(const std::filesystem::path& file);

// What PostgreSQL and Kafka hold, in the order that is safe while workers still run.
void load_sources(const DatabaseSource& postgres, const KafkaSource& kafka, Evidence& evidence);

// The scene's evidence with all that its sources hold.
Evidence gather(const Scene& scene);

}  // namespace onceward::checker
