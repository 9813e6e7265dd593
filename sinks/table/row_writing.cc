#include "sinks/table/row_writing.h"

#include <algorithm>
#include <functional>

#include "dedup/base/expects.h"
#include "dedup/postgres/binary.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::size_t piece_bytes = 64 * 1024;

void copy_rows(Transaction& transaction, const TablePlan& plan, std::span<const EncodedRow> rows) {
    std::string buffer;
    buffer.reserve(piece_bytes + 4096);
    buffer.append(binary::copy_header);
    transaction.copy_begin(sql::sink_copy, plan.pieces);
    for (const EncodedRow& row : rows) {
        buffer.append(row.bytes);
        if (buffer.size() >= piece_bytes) {
            transaction.copy_send(buffer);
            buffer.clear();
        }
    }
    buffer.append(binary::copy_trailer);
    transaction.copy_send(buffer);
    transaction.copy_end();
}

// Appends the row's fields as a statement's values; those of the key alone if `keys`.
void append_values(const TablePlan& plan, const EncodedRow& row, bool keys, Parameters& values) {
    const auto fields = fields_of(plan, row.bytes);
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const PlannedColumn& column = plan.columns[i];
        if (!keys || column.key) values.binary(column.type.oid, fields[i]);
    }
}

// The statements that write these rows by VALUES, or that remove the rows with their keys.
std::vector<SinkStatement> values_statements(const TablePlan& plan,
                                             std::span<const EncodedRow> rows, std::string_view sql,
                                             bool removes = false) {
    const std::vector<ValueLists>& lists = removes ? plan.keys_of_values : plan.rows_of_values;
    std::vector<SinkStatement> statements;
    while (!rows.empty()) {
        // The longest list that these rows fill; the first one is for one row.
        const auto list = std::prev(std::ranges::upper_bound(lists, rows.size(), std::less<>(),
                                                             &ValueLists::count));
        SinkStatement& one = statements.emplace_back(SinkStatement{sql, {}, plan.pieces});
        one.names.emplace_back("fingerprint", plan.fingerprint);
        one.names.emplace_back("values", list->text);
        for (const EncodedRow& row : rows.first(list->count)) {
            append_values(plan, row, removes, one.parameters);
        }
        rows = rows.subspan(list->count);
    }
    return statements;
}

Parameters rows_as_array(const TablePlan& plan, std::span<const EncodedRow> rows) {
    std::vector<std::optional<std::string_view>> values;
    values.reserve(rows.size());
    for (const EncodedRow& row : rows) values.emplace_back(row.bytes);
    Parameters parameters;
    parameters.binary_array(plan.row_array_type, plan.row_type, values);
    return parameters;
}

void add_removals(std::span<const EncodedRow> rows, Parameters& parameters) {
    std::vector<std::int32_t> removes;
    removes.reserve(rows.size());
    for (const EncodedRow& row : rows) removes.push_back(row.removes ? 1 : 0);
    parameters.small_integers(removes);
}

// DANGER: the rows that the batch removes are removed before others are written, and for each row
// only what comes after its last removal is written: see sink_upsert_after_removal.sql.
std::vector<SinkStatement> upserts_by_values(Transaction& transaction, const TablePlan& plan,
                                             std::span<const EncodedRow> rows) {
    Parameters parameters = rows_as_array(plan, rows);
    add_removals(rows, parameters);
    const QueryResult last = transaction.prepared(sql::sink_newest, parameters, plan.pieces);
    std::vector<EncodedRow> newest, removed;
    for (int row = 0; row < last.rows(); ++row) {
        newest.push_back(rows[static_cast<std::size_t>(last.integer(row, 0) - 1)]);
    }
    std::ranges::copy_if(rows, std::back_inserter(removed), &EncodedRow::removes);
    std::vector<SinkStatement> statements =
        values_statements(plan, removed, sql::sink_remove_values, true);
    for (SinkStatement& one : values_statements(plan, newest, sql::sink_upsert_values)) {
        statements.push_back(std::move(one));
    }
    return statements;
}

void run_together(Transaction& transaction, const std::vector<SinkStatement>& statements) {
    std::vector<Connection::Statement> all;
    for (const SinkStatement& one : statements) {
        all.push_back({one.sql, one.parameters, one.names});
    }
    if (!all.empty()) transaction.pipelined(std::move(all));
}

}  // namespace

bool can_be_at_once(const TablePlan& plan) { return !plan.values; }

bool has_row_statements(const TablePlan& plan) { return !plan.values || !plan.upserts; }

std::vector<SinkStatement> row_statements(const TablePlan& plan, std::span<const EncodedRow> rows) {
    expects(has_row_statements(plan), "the rows are written by statements alone");
    if (plan.tuples) return values_statements(plan, rows, sql::sink_insert_row);
    const Connection::Names& names = plan.pieces;
    std::vector<SinkStatement> statements;
    Parameters parameters = rows_as_array(plan, rows);
    if (!plan.upserts) {
        statements.push_back({sql::sink_insert, std::move(parameters), names});
        return statements;
    }
    if (std::ranges::none_of(rows, &EncodedRow::removes)) {
        statements.push_back({sql::sink_upsert, std::move(parameters), names});
        return statements;
    }
    statements.push_back({sql::sink_lock_rows, parameters, names});
    add_removals(rows, parameters);
    statements.push_back({sql::sink_remove, parameters, names});
    statements.push_back({sql::sink_upsert_after_removal, std::move(parameters), names});
    return statements;
}

void write_rows(Transaction& transaction, const TablePlan& plan, std::span<const EncodedRow> rows) {
    if (plan.values) {
        return run_together(transaction,
                            plan.upserts ? upserts_by_values(transaction, plan, rows)
                                         : values_statements(plan, rows, sql::sink_insert_row));
    }
    if (plan.tuples) return copy_rows(transaction, plan, rows);
    for (const SinkStatement& statement : row_statements(plan, rows)) {
        transaction.prepared(statement.sql, statement.parameters, statement.names);
    }
}

}  // namespace onceward
