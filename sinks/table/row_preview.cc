#include "sinks/table/row_preview.h"

#include "dedup/postgres/binary.h"
#include "sinks/columns/value_text.h"

namespace onceward {
namespace {

// Takes a field with its length off the row.
std::optional<std::string_view> take_field(std::string_view& row) {
    const std::uint32_t length = binary::get32(row);
    row.remove_prefix(4);
    if (length == binary::null_length) return std::nullopt;
    const std::string_view field = row.substr(0, length);
    row.remove_prefix(length);
    return field;
}

// For each column of the plan, in its order: a COPY tuple has just these, a value of the row type
// all live columns, each after its type.
std::vector<std::optional<std::string_view>> fields_of(const TablePlan& plan,
                                                       std::string_view row) {
    std::vector<std::optional<std::string_view>> fields(plan.columns.size());
    if (plan.copies) {
        row.remove_prefix(2);
        for (auto& field : fields) field = take_field(row);
        return fields;
    }
    row.remove_prefix(4);
    for (const int column : plan.column_at) {
        row.remove_prefix(4);
        const auto field = take_field(row);
        if (column >= 0) fields[static_cast<std::size_t>(column)] = field;
    }
    return fields;
}

}  // namespace

Preview preview_row(const TablePlan& plan, std::string_view row, bool removes) {
    Preview preview{.kind = removes ? Preview::Kind::removal : Preview::Kind::row,
                    .target = plan.table};
    const auto fields = fields_of(plan, row);
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const PlannedColumn& column = plan.columns[i];
        if (removes && !column.key) continue;
        PreviewField& shown = preview.fields.emplace_back();
        shown.name = column.name;
        shown.type = column.type.name;
        if (fields[i]) shown.text = value_text(*fields[i], column.type);
    }
    return preview;
}

}  // namespace onceward
