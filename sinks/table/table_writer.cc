#include "sinks/table/table_writer.h"

#include <algorithm>

#include "dedup/base/expects.h"
#include "dedup/postgres/binary.h"
#include "schemas/queries.h"
#include "sinks/columns/column_encoder.h"

namespace onceward {
namespace {

Rejection unmappable(const PlannedColumn& column, Misfit misfit) {
    return {.kind = Rejection::Kind::unmappable,
            .reason = "column `" + column.name + "` (" + column.type.name + "): the value " +
                      std::string(misfit)};
}

std::optional<Rejection> append_column(const PlannedColumn& column, const Message& message,
                                       std::string& out) {
    expects(column.field < message.fields.size(), "a message has each field of its plan");
    const bool removes = message.operation == Operation::remove;
    const Value& value = message.fields[column.field];
    const bool nothing = value.kind == Value::Kind::absent || value.kind == Value::Kind::null;
    if (nothing && column.key) return unmappable(column, "is missing, and it identifies the row");
    if (value.kind == Value::Kind::absent && column.required && !removes) {
        return unmappable(column, "is missing, and the column is marked `required`");
    }
    const Misfit misfit =
        append_value(removes && !column.key ? Value{} : value, column.type, column.provenance, out);
    if (!misfit.empty()) return unmappable(column, misfit);
    return std::nullopt;
}

constexpr std::size_t piece_bytes = 64 * 1024;

Connection::Names names_of(const TablePlan& plan) {
    return {plan.pieces.begin(), plan.pieces.end()};
}

void copy_rows(Transaction& transaction, const TablePlan& plan, std::span<const EncodedRow> rows) {
    std::string buffer;
    buffer.reserve(piece_bytes + 4096);
    buffer.append(binary::copy_header);
    transaction.copy_begin(sql::sink_copy, names_of(plan));
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

// Appends the fields of a COPY tuple as a statement's values.
void append_values(const TablePlan& plan, std::string_view tuple, Parameters& values) {
    tuple.remove_prefix(2);  // their number
    for (const PlannedColumn& column : plan.columns) {
        const std::uint32_t length = binary::get32(tuple);
        tuple.remove_prefix(4);
        if (length == binary::null_length) {
            values.binary(column.type.oid, std::nullopt);
            continue;
        }
        values.binary(column.type.oid, tuple.substr(0, length));
        tuple.remove_prefix(length);
    }
}

std::vector<SinkStatement> values_statements(const TablePlan& plan,
                                             std::span<const EncodedRow> rows) {
    std::vector<SinkStatement> statements;
    while (!rows.empty()) {
        const std::size_t count = std::min(rows.size(), plan.values.size());
        SinkStatement& one =
            statements.emplace_back(SinkStatement{sql::sink_insert_row,
                                                  {},
                                                  {{"fingerprint", plan.fingerprint},
                                                   {"table", plan.table},
                                                   {"columns", plan.column_list},
                                                   {"values", plan.values[count - 1]}}});
        for (const EncodedRow& row : rows.first(count)) {
            append_values(plan, row.bytes, one.parameters);
        }
        rows = rows.subspan(count);
    }
    return statements;
}

}  // namespace

std::optional<Rejection> append_row(const TablePlan& plan, const Message& message,
                                    std::string& out) {
    if (message.operation == Operation::remove && !plan.upserts) {
        return Rejection{.kind = Rejection::Kind::unmappable,
                         .reason =
                             "a sink with `mode: insert` cannot remove a row; use `mode: upsert`, "
                             "or another tombstone policy"};
    }
    if (plan.copies) {
        binary::put16(out, static_cast<std::uint16_t>(plan.columns.size()));
        for (const PlannedColumn& column : plan.columns) {
            if (auto rejection = append_column(column, message, out)) return rejection;
        }
        return std::nullopt;
    }
    binary::put32(out, static_cast<std::uint32_t>(plan.live_types.size()));
    for (std::size_t place = 0; place < plan.live_types.size(); ++place) {
        binary::put32(out, plan.live_types[place]);
        if (plan.column_at[place] < 0) {
            binary::put32(out, binary::null_length);
            continue;
        }
        const PlannedColumn& column = plan.columns[static_cast<std::size_t>(plan.column_at[place])];
        if (auto rejection = append_column(column, message, out)) return rejection;
    }
    return std::nullopt;
}

void guard_table(Transaction& transaction, const TablePlan& plan,
                 const std::function<void()>& meanwhile) {
    const Parameters none;
    const Parameters table = std::move(Parameters{}.text(plan.table));
    // DANGER: the look is a statement of its own, after the lock. Its snapshot then cannot be older
    // than a change that the lock waited for.
    const QueryResult now = std::move(transaction.pipelined(
        {{sql::sink_lock, none, names_of(plan)}, {sql::sink_fingerprint, table, {}}},
        meanwhile)[1]);
    if (now.rows() == 0 || now.text(0, 0) != plan.fingerprint) {
        throw SinkMismatch("table " + plan.table +
                           " was changed since it was read; it is read again");
    }
}

void write_rows(Transaction& transaction, const TablePlan& plan, std::span<const EncodedRow> rows) {
    if (plan.copies) return copy_rows(transaction, plan, rows);
    for (const SinkStatement& statement : row_statements(plan, rows)) {
        transaction.prepared(statement.sql, statement.parameters, statement.names);
    }
}

std::vector<SinkStatement> row_statements(const TablePlan& plan, std::span<const EncodedRow> rows) {
    if (plan.copies) return values_statements(plan, rows);
    const Connection::Names names = names_of(plan);
    std::vector<SinkStatement> statements;
    std::vector<std::optional<std::string_view>> values;
    values.reserve(rows.size());
    for (const EncodedRow& row : rows) values.emplace_back(row.bytes);
    Parameters parameters;
    parameters.binary_array(plan.row_array_type, plan.row_type, values);
    if (!plan.upserts) {
        statements.push_back({sql::sink_insert, std::move(parameters), names});
        return statements;
    }
    if (std::ranges::none_of(rows, &EncodedRow::removes)) {
        statements.push_back({sql::sink_upsert, std::move(parameters), names});
        return statements;
    }
    std::vector<std::int32_t> removes;
    removes.reserve(rows.size());
    for (const EncodedRow& row : rows) removes.push_back(row.removes ? 1 : 0);
    statements.push_back({sql::sink_lock_rows, parameters, names});
    parameters.small_integers(removes);
    statements.push_back({sql::sink_remove, parameters, names});
    statements.push_back({sql::sink_upsert_after_removal, std::move(parameters), names});
    return statements;
}

}  // namespace onceward
