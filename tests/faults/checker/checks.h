#pragma once
// The judgement: pure functions of the evidence, one for each invariant of docs/faults.md that can
// be seen at rest. Thread-safe; they borrow the evidence for the call. No failure but bad_alloc:
// evidence that contradicts itself (a message in the log that nobody produced) is a Problem, as
// nothing can be said of the product from it. 100,000 messages take a fraction of a second.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/faults/checker/evidence.h"

namespace onceward::checker {

// What was broken, and where; `where` holds keys, places or partitions, the first 20 of `count`.
struct Violation {
    std::string invariant;  // "I1"
    std::string text;       // the rule that was broken
    std::vector<std::string> where;
    std::int64_t count = 0;
};

struct Numbers {
    std::int64_t messages = 0;  // in the log, committed
    std::int64_t keys = 0;
    std::int64_t applied = 0;
    std::int64_t duplicates = 0;
    std::int64_t conflicts = 0;
    std::int64_t dead_letters = 0;
    std::int64_t skipped = 0;
    std::int64_t lost = 0;   // keys without their effect, and passed messages that are nowhere
    std::int64_t twice = 0;  // effects beyond a key's first
    // Sent to routes, each as often as it was sent; their keys are not counted above, what was lost
    // or took effect twice is.
    std::int64_t requests = 0;
};

struct Verdict {
    Numbers numbers;
    std::vector<Violation> violations;
    std::vector<std::string> problems;   // why the evidence is no evidence
    std::vector<std::string> unchecked;  // invariants that this evidence cannot show
};

// All of those below.
Verdict judge(const Evidence& evidence);

// The evidence with its indexes, made once for all checks; defined in joined.h.
class Joined;

using Violations = std::vector<Violation>;
Violations check_effects(const Joined& joined);       // I1
Violations check_fence_moves(const Joined& joined);   // I2
Violations check_coverage(const Joined& joined);      // I3
Violations check_transactions(const Joined& joined);  // I4
Violations check_owners(const Evidence& evidence);    // I5, from the audit's rows
Violations check_claims(const Joined& joined);        // I6
Violations check_fail_over(const Joined& joined);     // I7
Violations check_retention(const Joined& joined);     // I8
Violations check_leases(const Joined& joined);        // I9
Violations check_calls(const Joined& joined);         // I9
Violations check_outbox(const Joined& joined);        // I10
Violations check_dead_letters(const Joined& joined);  // I11
Violations check_lag(const Joined& joined);           // I12
Violations check_secrets(const Evidence& evidence);   // I14
Violations check_order(const Joined& joined);         // I15
Violations check_totals(const Joined& joined);        // I16
Violations check_trouble(const Joined& joined);       // I18, from the audit's rows
Violations check_standstills(const Joined& joined);   // I1, where added partitions stop a topic
// I17: a key of a request has one effect, one claim and one answer, whatever was cut off between.
Violations check_requests(const Evidence& evidence);
// Keys that were answered with success and have no effect, and effects beyond a key's first.
struct RequestLosses {
    std::int64_t lost = 0;
    std::int64_t twice = 0;
};
RequestLosses count_request_losses(const Evidence& evidence);
// The same of routes to an upstream, and I9 of the calls that were made for them.
Violations check_route_calls(const Evidence& evidence);
RequestLosses count_route_losses(const Evidence& evidence);

}  // namespace onceward::checker
