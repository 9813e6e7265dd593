#pragma once
// What Citus does with tables, on a server that has this extension: a row of its catalog
// pg_dist_partition says that it manages a table. Pure except for citus_tables(), which throws
// PostgresError. Thread-safe beyond its Connection.

#include <cstdint>
#include <string>
#include <vector>

#include "dedup/postgres/connection.h"

namespace onceward {

struct CitusTable {
    enum class Kind : std::uint8_t {
        spread,        // rows are on the shards that a column's values choose
        single_shard,  // all rows are on one node: schema-based sharding
        reference,     // a copy of the table is on each node
        local,         // only on the coordinator, and yet written to through Citus
    };
    Kind kind = Kind::spread;
    std::string name;    // with its schema unless the search path finds it, quoted as needed
    std::string column;  // that chooses the shard; '' if none does
};

// `method`, `model` and `colocation` are partmethod, repmodel and colocationid of a table's row.
CitusTable::Kind citus_kind(char method, char model, std::int64_t colocation);

// The end of a sentence, such as "which Citus distributes by `tenant`".
std::string to_text(const CitusTable& table);

// The tables that Citus manages among these: the one with this id, and those of this schema. Either
// may name none: 0, ''. REQUIRES: the server has pg_dist_partition, or the statement fails.
std::vector<CitusTable> citus_tables(Connection& connection, std::uint32_t table,
                                     const std::string& schema);

// Why a schema of ours with such tables is refused; '' if there are none.
std::string distributed_refusal(const std::string& schema, const std::vector<CitusTable>& tables);

}  // namespace onceward
