#pragma once
// A table sink: which table, which columns from where, and what a message does to its row. Plain
// values.

#include <cstdint>
#include <string>
#include <vector>

#include "sinks/columns/column_options.h"

namespace onceward {

struct TableSinkOptions {
    enum class Mode : std::uint8_t {
        insert,  // one new row for each message
        upsert,  // INSERT ... ON CONFLICT (conflict_target) DO UPDATE; of a batch's messages for
                 // one row the last wins
    };
    std::string table;  // `name` or `schema.name`
    Mode mode = Mode::insert;
    std::vector<ColumnOptions> columns;
    std::vector<std::string> conflict_target;  // upsert, and the row that a tombstone deletes
    // Upsert only: the row changes only where this column grows (a version or a time).
    std::string only_if_newer;
    // How rows travel. copy: inserts by binary COPY, fastest; the table's attributes are compared
    // under a lock in the same transaction, since COPY takes an int8 for a float8 silently. unnest:
    // inserts by INSERT ... SELECT from typed arrays; also works with row level security or rules,
    // which COPY cannot pass. values: INSERT ... VALUES, also of an upsert. A table that Citus
    // manages is always written by values: it answers XX000 to a row that another way brings and
    // that a constraint refuses.
    enum class Transport : std::uint8_t { copy, unnest, values } transport = Transport::copy;
    // Whether messages may remove rows (tombstones, a change event's delete). They may do so only
    // in upsert mode. Since it is said here, a missing DELETE privilege shows at start instead of
    // at the first removal.
    bool removes = false;
};

}  // namespace onceward
