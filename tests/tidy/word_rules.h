#pragma once
// Whether comments, messages and pages use the words that CONTRIBUTING.md asks for. The table under
// `## Words` there is the data: its first column holds the words to avoid. Pure functions of the
// tree.

#include "tests/tidy/tree.h"

namespace onceward::tidy {

// A word to avoid in a comment of C++ or of a query's SQL, in a C++ message (a literal with a
// blank), or in a page. Words in `backticks` are names.
Findings words_to_avoid(const Tree& tree);
// A comment that begins with "Of" and a noun: a fragment whose subject is elsewhere.
Findings fragments(const Tree& tree);

}  // namespace onceward::tidy
