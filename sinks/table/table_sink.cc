#include "sinks/table/table_sink.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "dedup/base/expects.h"
#include "dedup/base/nearest_name.h"
#include "dedup/base/text.h"
#include "dedup/postgres/binary.h"
#include "schemas/queries.h"
#include "sinks/columns/catalog.h"
#include "sinks/columns/column_encoder.h"
#include "sinks/columns/convert.h"
#include "sinks/columns/declared_table.h"
#include "sinks/table/row_preview.h"
#include "sinks/table/row_writing.h"
#include "sinks/table/table_plan.h"

namespace onceward {

struct TableSink::Numbered {
    std::uint32_t number = 0;
    TablePlan plan;
};

namespace {

Rejection unmappable(const PlannedColumn& column, Misfit misfit) {
    return unmappable_value("column `" + column.name + "` (" + column.type.name + ")", misfit);
}

std::optional<Rejection> append_column(const PlannedColumn& column, const Message& message,
                                       std::string& out) {
    expects(column.field < message.fields.size(), "a message has each field of its plan");
    const bool removes = message.operation == Operation::remove;
    // Only the key of a removed row is needed.
    if (removes && !column.key) return binary::put32(out, binary::null_length), std::nullopt;
    Value value = message.fields[column.field];
    Provenance provenance = column.provenance;
    if (column.conversion.changes_values()) {
        // DANGER: a removal that lacks its key must not remove the row whose key is the default.
        const auto change = removes ? convert_present : convert;
        const Misfit misfit = change(column.conversion, column.type.kind, value, provenance);
        if (!misfit.empty()) return unmappable(column, misfit);
    }
    if (is_missing(value) && column.key) {
        return unmappable(column, "is missing, and it identifies the row");
    }
    if (value.kind == Value::Kind::absent && column.required) {
        return unmappable(column, "is missing, and the column is marked `required`");
    }
    const Misfit misfit =
        append_value(value, column.type, provenance, out, column.conversion.lossy);
    if (!misfit.empty()) return unmappable(column, misfit);
    return std::nullopt;
}

// Appends the row to `out`: a COPY tuple, or a value of the table's row type. A removal's row holds
// its key alone. A Rejection names the column and its type, never the value.
std::optional<Rejection> append_row(const TablePlan& plan, const Message& message,
                                    std::string& out) {
    if (message.operation == Operation::remove && !plan.upserts) {
        return Rejection{.kind = Rejection::Kind::unmappable,
                         .reason =
                             "a sink with `mode: insert` cannot remove a row; use `mode: upsert`, "
                             "or another tombstone policy"};
    }
    if (plan.tuples) {
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

// Locks the table and compares it with what the plan was made from; `meanwhile` is called while the
// server does so.
void guard_table(Transaction& transaction, const TablePlan& plan,
                 const std::function<void()>& meanwhile) {
    const Parameters none;
    const Parameters table{plan.table};
    // DANGER: check in a statement of its own, after the lock. Its snapshot then cannot be older
    // than a change that the lock waited for.
    const QueryResult now = std::move(transaction.pipelined(
        {{sql::sink_lock, none, plan.pieces}, {plan.fingerprint_query, table, {}}}, meanwhile)[1]);
    if (now.rows() == 0 || now.text(0, 0) != plan.fingerprint) {
        throw SinkMismatch("table " + plan.table +
                           " was changed since it was read; it is read again");
    }
}

constexpr std::size_t number_bytes = sizeof(std::uint32_t);

std::uint32_t number_of(std::string_view encoded) {
    std::uint32_t number = 0;
    if (encoded.size() >= number_bytes) std::memcpy(&number, encoded.data(), number_bytes);
    return number;
}

std::string not_found(Connection& connection, const std::string& table) {
    std::vector<std::string> there = table_names(connection, table);
    // The likeliest first: not all have room.
    std::ranges::stable_sort(there, {}, [&](const std::string& name) {
        return edit_distance(name, table.substr(table.rfind('.') + 1));
    });
    std::string names;
    for (const std::string& name : there) {
        if (names.size() < 200) names += (names.empty() ? "" : ", ") + name;
    }
    return "there is no table `" + table + "`; " +
           (names.empty() ? "its schema holds none that this role can see" : "there are: " + names);
}

std::vector<EncodedRow> rows_of(std::span<const Message* const> messages) {
    std::vector<EncodedRow> rows;
    rows.reserve(messages.size());
    for (const Message* message : messages) {
        rows.push_back({message->encoded, message->operation == Operation::remove});
    }
    return rows;
}

// Encodes the message's row again, under a newer plan than before.
std::string encoded_again(const TablePlan& plan, const Message& message) {
    std::string row;
    if (const auto rejection = append_row(plan, message, row)) {
        // A data exception, so that the search finds this message and the dead letters get it.
        throw PostgresError({.sqlstate = "22000", .message = rejection->reason});
    }
    return row;
}

// Takes the plan's number off each row. Rows of another plan are encoded again, into `again`.
void take_numbers(std::uint32_t number, const TablePlan& plan,
                  std::span<const Message* const> messages, std::vector<EncodedRow>& rows,
                  std::deque<std::string>& again) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::string_view& bytes = rows[i].bytes;
        // DANGER: rows that waited in a queue while the table changed were encoded for its old
        // columns, and guard_table() compares the new ones. COPY would take an int8 in such a row
        // for a float8.
        if (number_of(bytes) != number) {
            bytes = again.emplace_back(encoded_again(plan, *messages[i]));
        } else {
            bytes.remove_prefix(number_bytes);
        }
    }
}

}  // namespace

TableSink::TableSink(TableSinkOptions options) : options_(std::move(options)) {}
TableSink::~TableSink() = default;

void TableSink::prepare(Connection& connection) {
    const auto table = read_table(connection, options_.table);
    if (!table) throw SinkMismatch(not_found(connection, options_.table));
    prepare(*table);
}

void TableSink::prepare_offline(const ColumnTypes& columns) {
    try {
        prepare(declared_table(options_.table, columns, options_.conflict_target));
    } catch (const std::invalid_argument& error) {
        throw SinkMismatch(error.what());
    }
}

void TableSink::prepare(const CatalogTable& table) {
    TablePlan plan = make_plan(options_, table);
    const Numbered* const before = current();
    // The table is the same as before, and is written in the same way: what the reader has encoded
    // since then stays good.
    if (before != nullptr && before->plan.fingerprint == plan.fingerprint &&
        before->plan.values == plan.values) {
        return;
    }
    const std::uint32_t number = before == nullptr ? 1 : before->number + 1;
    plans_.push_back(std::make_unique<const Numbered>(Numbered{number, std::move(plan)}));
    current_.store(plans_.back().get(), std::memory_order_release);
}

std::string TableSink::note() const {
    const Numbered* const plan = current();
    return plan == nullptr ? "" : plan->plan.note;
}

std::string TableSink::target_state(Connection& connection) {
    return table_state(connection, options_.table);
}

std::optional<Rejection> TableSink::encode(Message& message,
                                           std::pmr::memory_resource& arena) const {
    const Numbered* const plan = current();
    expects(plan != nullptr, "a table is prepared before rows are encoded for it");
    thread_local std::string row;
    row.assign(reinterpret_cast<const char*>(&plan->number), number_bytes);
    if (auto rejection = append_row(plan->plan, message, row)) return rejection;
    message.encoded = keep(arena, row);
    return std::nullopt;
}

std::vector<Preview> TableSink::preview(const Message& message) const {
    const Numbered* const plan = current();
    expects(plan != nullptr && number_of(message.encoded) == plan->number,
            "a row is shown under the plan that it was encoded by");
    return {preview_row(plan->plan, message.encoded.substr(number_bytes),
                        message.operation == Operation::remove)};
}

void TableSink::write(Transaction& transaction, const BatchContext&,
                      std::span<const Message* const> messages) {
    if (messages.empty()) return;
    const Numbered* const plan = current();
    std::vector<EncodedRow> rows;
    guard_table(transaction, plan->plan, [&] { rows = rows_of(messages); });
    std::deque<std::string> again;
    take_numbers(plan->number, plan->plan, messages, rows, again);
    write_rows(transaction, plan->plan, rows);
}

// DANGER: guard_table() does not run before these rows. So they are never sent by COPY, and the
// last statement fails if the table is another one. Without it the server would convert the values
// to the types of a changed table, and round them.
std::optional<std::vector<SinkStatement>> TableSink::at_once(
    const BatchContext&, std::span<const Message* const> messages) {
    const Numbered* const numbered = current();
    const TablePlan& plan = numbered->plan;
    if (!can_be_at_once(plan)) return std::nullopt;
    std::vector<EncodedRow> rows = rows_of(messages);
    std::deque<std::string> again;
    take_numbers(numbered->number, plan, messages, rows, again);
    std::vector<SinkStatement> statements = row_statements(plan, rows);
    statements.push_back({plan.unchanged, {plan.table, plan.fingerprint}});
    return statements;
}

bool TableSink::begin_parts(Transaction& transaction) {
    const Numbered* const plan = current();
    if (!has_row_statements(plan->plan)) return false;
    guard_table(transaction, plan->plan, {});
    return true;
}

std::vector<SinkStatement> TableSink::part(const BatchContext&,
                                           std::span<const Message* const> messages) {
    const Numbered* const plan = current();
    std::vector<EncodedRow> rows = rows_of(messages);
    std::deque<std::string> again;
    take_numbers(plan->number, plan->plan, messages, rows, again);
    return row_statements(plan->plan, rows);
}

}  // namespace onceward
