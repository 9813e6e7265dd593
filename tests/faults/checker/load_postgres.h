#pragma once
// Fills evidence from PostgreSQL through libpq. Each call opens a session of its own and reads in
// one REPEATABLE READ transaction. Failures are std::runtime_errors: the run could not be checked.

#include <string>
#include <unordered_map>
#include <vector>

#include "tests/faults/checker/evidence.h"

namespace onceward::checker {

// Where a topic's rows are. Columns that the table lacks are empty; those of place and id must be.
struct SinkTable {
    std::string topic;
    std::string table;  // qualified
    std::string id = "message_id";
    std::string partition = "kafka_partition";
    std::string offset = "kafka_offset";
    std::string landed = "landed";
    std::string key;           // the idempotency key as text or bytea
    std::string target;        // upsert: the column that rows are unique by
    std::string topic_column;  // where topics share a table
    // An xid8 with the transaction that wrote the row. Without it that is the row's xmin, which a
    // table that is written again loses.
    std::string transaction;
};

struct DatabaseSource {
    std::string dsn;
    std::string schema;
    std::string consumer_group;
    std::vector<SinkTable> sinks;
};

// Claims, generations, dead letters, skipped ranges, fences, the sinks' rows, and the audit's rows
// where audit.sql is installed (settings.audited is set by that). `evidence.topics` must be there:
// rows of other topics are passed over.
void load_database(const DatabaseSource& source, Evidence& evidence);

// Installs audit.sql in a migrated schema, as its owner, before the first worker starts.
void install_audit(const std::string& owner_dsn, const std::string& schema);

class PgSession;
// The rows of leases, a claim for each that is done, and what the audit has of them. `sources`:
// topics, by the number of what feeds a ledger; rows of others are passed over.
void read_leases(PgSession& session, const std::string& schema,
                 const std::unordered_map<std::int64_t, int>& sources, Evidence& evidence);
// What requests have left: rows of `table` (number, key, body), and the claims and stored
// answers of the ledgers that routes feed. In a REPEATABLE READ transaction of its own.
void load_request_effects(const DatabaseSource& source, const std::string& table,
                          Evidence& evidence);
// The group's own fences, or those that its replays have.
enum class MovesOf : std::uint8_t { the_group, replays };
// The audit's rows, oldest first; `newest`: no more than so many of the latest, 0: all.
std::vector<FenceMove> read_fence_moves(PgSession& session, const DatabaseSource& source,
                                        const std::vector<TopicSettings>& topics,
                                        std::int64_t newest, MovesOf whose = MovesOf::the_group);

}  // namespace onceward::checker
