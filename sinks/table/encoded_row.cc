#include "sinks/table/encoded_row.h"

#include "dedup/postgres/binary.h"

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

}  // namespace

// A COPY tuple has only these fields. A value of the row type has all live columns, each after its
// type.
std::vector<std::optional<std::string_view>> fields_of(const TablePlan& plan,
                                                       std::string_view row) {
    std::vector<std::optional<std::string_view>> fields(plan.columns.size());
    if (plan.tuples) {
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

}  // namespace onceward
