#pragma once
// What a seed has left as a list of steps, for a judge that checks each of them by itself: see
// model/trace. Pure.

#include <iosfwd>

#include "tests/faults/checker/evidence.h"

namespace onceward::campaign::core {

// Lines of JSON: one for each message; one for each transaction that moved a fence, or wrote an
// effect, a claim or a dead letter, in the order of commits; one for the offsets that Kafka was
// told last, and what is to be known of the whole. Of two transactions that have a partition or a
// key in common, the second moved its fences after the first one's COMMIT: the order of their last
// moves, as the audit numbered them, is that of their commits.
void write_trace(const checker::Evidence& evidence, std::ostream& out);

}  // namespace onceward::campaign::core
