#pragma once
// What is wrong with a column's conversions before any message is read: steps that cannot follow
// each other, a type that cannot take what they make, constants that do not fit. Sentences without
// a subject, such as "cannot ...". Pure, thread-safe.

#include <string>
#include <vector>

#include "sinks/columns/catalog.h"
#include "sinks/columns/column_options.h"

namespace onceward {

// '' if each step can take what the source or the step before it gives.
std::string order_fault(const ColumnOptions& column);

// What the steps make that a column of this type cannot take. REQUIRES: order_fault() is ''.
std::vector<std::string> type_faults(const ColumnOptions& column, const ColumnType& type);

// The same for a member of a JSON document. '' if nothing is wrong.
std::string document_fault(const ColumnOptions& member);
// And for a header, which is bytes. '' if nothing is wrong.
std::string header_fault(const ColumnOptions& header);

}  // namespace onceward
