#pragma once
// Whether the pages that list names list the real ones. Pure functions of the tree.

#include "tests/tidy/tree.h"

namespace onceward::tidy {

// The table under `## Events` in docs/events.md lists the log events of the product, all of them
// and no others.
Findings event_differences(const Tree& tree);
// docs/runbooks.md has one heading for each alert of docs/alerts.yaml, and each alert's
// `runbook_url` leads to its heading.
Findings runbook_differences(const Tree& tree);

}  // namespace onceward::tidy
