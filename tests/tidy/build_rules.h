#pragma once
// Whether everything in the tree is built, run or read by something. Pure functions of the tree.

#include "tests/tidy/tree.h"

namespace onceward::tidy {

// Every .cc stands in the source list of a CMakeLists.txt at or above it, tests included.
Findings sources_not_built(const Tree& tree);
// Every schemas/queries/*.sql is used as sql::<name>, every schemas/roles/*.sql as roles::<name>,
// every lab/queries/*.sql as lab_sql::<name>.
Findings queries_not_used(const Tree& tree);
// Every other file is named by some file; headers are included by one.
Findings files_nobody_names(const Tree& tree);
// The Dockerfile copies what `scripts/setup` always runs, and the files that these scripts name,
// before the layer that runs it: the source is not there yet.
Findings files_the_first_layer_lacks(const Tree& tree);
// Tests that are there and do not run.
Findings tests_switched_off(const Tree& tree);
// Sleeping in tests: only support/eventually.cc may, between two looks.
Findings sleeping_tests(const Tree& tree);

}  // namespace onceward::tidy
