#pragma once
// The second look of `check`, at what a configuration names on this machine: descriptors, message
// types, paths. Opens no connection.

#include "cli/configuration/load.h"

namespace onceward {

// Adds to the findings. REQUIRES: result.usable().
void check_setup(LoadResult& result);

}  // namespace onceward
