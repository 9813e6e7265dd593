#include "sinks/table/row_encoder.h"

#include "dedup/base/expects.h"
#include "dedup/postgres/binary.h"
#include "sinks/columns/column_encoder.h"

namespace onceward {
namespace {

Rejection unmappable(const PlannedColumn& column, Misfit misfit) {
    return {.kind = Rejection::Kind::unmappable,
            .reason = "column `" + column.name + "` (" + column.type.name + "): the value " +
                      std::string(misfit),
            .sqlstate = {}};
}

std::optional<Rejection> append_column(const PlannedColumn& column, const Message& message,
                                       std::string& out) {
    expects(column.field < message.fields.size(), "a message has each field of its plan");
    const bool removes = message.operation == Operation::remove;
    const Value& value = message.fields[column.field];
    const bool nothing = value.kind == Value::Kind::absent || value.kind == Value::Kind::null;
    if (nothing && column.key)
        return unmappable(column, "is missing, and it identifies the row");
    if (value.kind == Value::Kind::absent && column.required && !removes) {
        return unmappable(column, "is missing, and the column is marked `required`");
    }
    const Misfit misfit =
        append_value(removes && !column.key ? Value{} : value, column.type, column.provenance, out);
    if (!misfit.empty()) return unmappable(column, misfit);
    return std::nullopt;
}

}  // namespace

std::optional<Rejection> append_row(const TablePlan& plan, const Message& message,
                                    std::string& out) {
    if (message.operation == Operation::remove && !plan.upserts) {
        return Rejection{.kind = Rejection::Kind::unmappable,
                         .reason =
                             "a sink with `mode: insert` cannot remove a row; use `mode: upsert`, "
                             "or another tombstone policy",
                         .sqlstate = {}};
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

}  // namespace onceward
