#pragma once
// A row as the table sink encoded it, and its fields. Pure.

#include <optional>
#include <string_view>
#include <vector>

#include "sinks/table/table_plan.h"

namespace onceward {

struct EncodedRow {
    std::string_view bytes;  // under the plan given with it
    bool removes = false;
};

// For each column of the plan, in its order, the bytes of its value; nullopt is NULL. They are
// views of `row`. REQUIRES: it was encoded under this plan.
std::vector<std::optional<std::string_view>> fields_of(const TablePlan& plan,
                                                       std::string_view row);

}  // namespace onceward
