#pragma once
// A message's fields as one row in the shape that its plan's transport wants. Pure, thread-safe.

#include <optional>
#include <string>

#include "dedup/message/message.h"
#include "sinks/table/table_plan.h"

namespace onceward {

// Appends the row to `out`: a COPY tuple, or a value of the table's row type. A removal's row holds
// its key alone. A Rejection names the column and its type, never the value.
std::optional<Rejection> append_row(const TablePlan& plan, const Message& message,
                                    std::string& out);

}  // namespace onceward
