#pragma once
// A sink that is a function of the database. Plain values.

#include <string>
#include <vector>

#include "sinks/columns/column_options.h"

namespace onceward {

struct FunctionSinkOptions {
    std::string function;  // `name` or `schema.name`; it takes one jsonb[]
    // The members of each message's object, and where they come from.
    std::vector<ColumnOptions> columns;
    // Whether the function's results are returned or stored. If so, each row must be that of its
    // message, and a function that does not number its rows is called with one message at a time.
    bool answers = true;
};

}  // namespace onceward
