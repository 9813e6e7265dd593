#pragma once
// The statements of TableSink::write(). Used by the writer's thread; throws PostgresError and
// SinkMismatch.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/message/message.h"
#include "dedup/postgres/transaction.h"
#include "dedup/sink/sink.h"
#include "sinks/table/table_plan.h"

namespace onceward {

// Appends the row to `out`: a COPY tuple, or a value of the table's row type. A removal's row holds
// its key alone. A Rejection names the column and its type, never the value.
std::optional<Rejection> append_row(const TablePlan& plan, const Message& message,
                                    std::string& out);

struct EncodedRow {
    std::string_view bytes;  // as append_row() made it, under the plan given with it
    bool removes = false;
};

// Locks the table and compares it with what the plan was made from; `meanwhile` is called while the
// server does so.
void guard_table(Transaction& transaction, const TablePlan& plan,
                 const std::function<void()>& meanwhile);

// REQUIRES: guard_table() in the same transaction, just before.
void write_rows(Transaction& transaction, const TablePlan& plan, std::span<const EncodedRow> rows);

// The same as statements alone: rows that COPY would take are inserted by VALUES.
std::vector<SinkStatement> row_statements(const TablePlan& plan, std::span<const EncodedRow> rows);

}  // namespace onceward
