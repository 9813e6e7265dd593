#include "sinks/table/table_writer.h"

#include <algorithm>

#include "dedup/postgres/binary.h"
#include "dedup/sink/sink.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::size_t piece_bytes = 64 * 1024;

Connection::Names names_of(const TablePlan& plan) {
    return {{"table", plan.table},     {"columns", plan.column_list},
            {"aliases", plan.aliases}, {"incoming", plan.incoming},
            {"keys", plan.keys},       {"target_keys", plan.target_keys},
            {"target", plan.target},   {"newest", plan.newest},
            {"action", plan.action}};
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

}  // namespace

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
    std::vector<std::optional<std::string_view>> values;
    values.reserve(rows.size());
    for (const EncodedRow& row : rows) values.emplace_back(row.bytes);
    const auto names = names_of(plan);
    Parameters parameters;
    parameters.binary_array(plan.row_array_type, plan.row_type, values);
    if (!plan.upserts) {
        transaction.prepared(sql::sink_insert, parameters, names);
        return;
    }
    if (std::ranges::none_of(rows, &EncodedRow::removes)) {
        transaction.prepared(sql::sink_upsert, parameters, names);
        return;
    }
    std::vector<std::int32_t> removes;
    removes.reserve(rows.size());
    for (const EncodedRow& row : rows) removes.push_back(row.removes ? 1 : 0);
    transaction.prepared(sql::sink_lock_rows, parameters, names);
    parameters.small_integers(removes);
    transaction.prepared(sql::sink_remove, parameters, names);
    transaction.prepared(sql::sink_upsert_after_removal, parameters, names);
}

}  // namespace onceward
