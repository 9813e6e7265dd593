#pragma once
// What /proc says of a process. Pure but for the reading; a process that has ended answers nothing.

#include <optional>

#include "tests/faults/checker/samplers.h"

namespace onceward::checker {

std::optional<ResourceSample> usage_of(int pid);

}  // namespace onceward::checker
