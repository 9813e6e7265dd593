#pragma once
// A sink that is a function of the database. Plain values.

#include <string>
#include <vector>

#include "sinks/table_options.h"

namespace onceward {

struct FunctionSinkOptions {
    std::string function;  // `name` or `schema.name`; it takes one jsonb[]
    // The members of each message's object, and where they come from.
    std::vector<ColumnOptions> columns;
};

}  // namespace onceward
