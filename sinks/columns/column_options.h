#pragma once
// A column of a sink, or an argument or field: its name, and where its value comes from. Plain
// values.

#include <string>
#include <vector>

#include "dedup/message/value.h"
#include "sinks/columns/conversion.h"

namespace onceward {

struct ColumnOptions {
    std::string name;
    FieldSource source;
    // A column with a path that the message lacks: NULL (default), or the message is rejected.
    bool required = false;
    // For the config's messages: the line of this column in the file.
    int line = 0;
    ColumnConversion conversion{};
};

inline std::vector<FieldSource> sources_of(const std::vector<ColumnOptions>& columns) {
    std::vector<FieldSource> sources;
    for (const ColumnOptions& column : columns) sources.push_back(column.source);
    return sources;
}

}  // namespace onceward
