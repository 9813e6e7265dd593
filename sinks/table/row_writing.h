#pragma once
// Writes encoded rows to their table, by COPY or by statements. Thread-safe except for the
// transaction; throws PostgresError.

#include <span>
#include <vector>

#include "dedup/postgres/transaction.h"
#include "dedup/sink/sink.h"
#include "sinks/table/encoded_row.h"

namespace onceward {

// Writes the rows in their order. REQUIRES: in this transaction the table is locked and is what the
// plan was made from.
void write_rows(Transaction& transaction, const TablePlan& plan, std::span<const EncodedRow> rows);

// Whether row_statements() can say what write_rows() does. An upsert by VALUES asks the server
// first which of a batch's messages are the last ones for their rows.
bool has_row_statements(const TablePlan& plan);

// Whether the rows can go in the round trip that begins and commits their transaction. Never for a
// table of Citus, with which this was not run.
bool can_be_at_once(const TablePlan& plan);

// What write_rows() does as statements alone: rows that COPY would take are inserted by VALUES.
// REQUIRES: has_row_statements().
std::vector<SinkStatement> row_statements(const TablePlan& plan, std::span<const EncodedRow> rows);

}  // namespace onceward
