#pragma once
// What the bench found, as pictures. Pure.

#include <string>

#include "lab/bench/report.h"

namespace onceward::bench {

// SVG: a bar for each outcome, as a multiple of its floor, so that longer is better and all share
// one axis; a stroke where the goal is.
std::string as_svg(const Report& report);

// SVG: three bars for each load of the row that has latencies, on a logarithmic axis, with the day
// and the machine. Empty if no row has any.
std::string latencies_as_svg(const Report& report);

// How often `value` meets the floor, whichever side is the good one; REQUIRES: above 0, or
// the floor itself.
double times_the_floor(const Target& target, double value);

}  // namespace onceward::bench
