#pragma once
// Who may talk to PostgreSQL in what way, and who may commit an offset. Pure functions of the tree.

#include "tests/tidy/tree.h"

namespace onceward::tidy {

// SQL stands in schemas/ alone: what a statement does can then be read, and tried, in one place.
Findings sql_in_code(const Tree& tree);
// The files of the product that open a transaction, sorted.
Findings transaction_openers(const Tree& tree);
// The files of the product that call commit_through(), sorted.
Findings offset_committers(const Tree& tree);

}  // namespace onceward::tidy
