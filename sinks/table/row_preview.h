#pragma once
// An encoded row of a table as text, for tests of a configuration. Pure.

#include <string_view>

#include "dedup/sink/preview.h"
#include "sinks/table/table_plan.h"

namespace onceward {

// REQUIRES: `row` was encoded under this plan. Of a removal's row only the key is shown.
Preview preview_row(const TablePlan& plan, std::string_view row, bool removes);

}  // namespace onceward
