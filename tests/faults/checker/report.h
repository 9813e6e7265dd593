#pragma once
// The verdict for machines (JSON) and for people.

#include <string>

#include "tests/faults/checker/checks.h"
#include "tests/faults/checker/samplers.h"

namespace onceward::checker {

// {"messages":…, "keys":…, "applied":…, "duplicates":…, "conflicts":…, "dead_letters":…,
//  "skipped":…, "lost":…, "twice":…, "violations": [{"invariant":…, "text":…, "count":…,
//  "where":[…]}], "problems":[…], "unchecked":[…]}
std::string json_report(const Verdict& verdict);
std::string json_report(const SampleReport& report);
std::string summary(const Verdict& verdict);

// 0: holds; 1: violations; 2: could not be checked.
int exit_code(const Verdict& verdict);

}  // namespace onceward::checker
