#include "sinks/table/row_preview.h"

#include "sinks/columns/value_text.h"
#include "sinks/table/encoded_row.h"

namespace onceward {
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
