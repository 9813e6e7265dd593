#pragma once
// Which room of the product may include which. The table under `## Rooms` in docs/architecture.md
// is the data: room, what is in it, the rooms that it may include. Pure functions of the tree.

#include "tests/tidy/tree.h"

namespace onceward::tidy {

// Every folder of the product with C++ files has a row with a purpose, and every row has a folder.
Findings room_table_differences(const Tree& tree);
// An include of a room that the table does not allow, and a permission that no file uses. A
// folder's root may include its rooms; a room never includes the root.
Findings room_includes(const Tree& tree);
// Rooms that include each other, directly or through others, by the table.
Findings room_cycles(const Tree& tree);
// A room with more files than a reader can survey. The table of options may have more.
Findings crowded_rooms(const Tree& tree);

}  // namespace onceward::tidy
