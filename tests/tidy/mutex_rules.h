#pragma once
// Whether Clang's analysis can see the product's mutexes (dedup/base/mutex.h). Pure functions of
// the tree.

#include "tests/tidy/tree.h"

namespace onceward::tidy {

// A mutex, a lock or a condition variable of the standard library that the analysis does not know.
Findings bare_mutexes(const Tree& tree);
// A Mutex or a SharedMutex that no member of its file is guarded by.
Findings mutexes_that_guard_nothing(const Tree& tree);

}  // namespace onceward::tidy
