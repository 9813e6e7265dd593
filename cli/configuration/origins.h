#pragma once
// Where the value of each option came from: for people who ask a running process. Pure.

#include <vector>

#include "cli/configuration/configuration.h"
#include "cli/configuration/yaml_tree.h"

namespace onceward {

// The options that the file gives, in its order, then those of the whole process that have their
// default. Options of a topic or a route that are not given are not listed. Values of secrets, of
// headers, of what is read from a file of its own, and of librdkafka's properties that are not
// known to be harmless are left out. REQUIRES: variables have been put in.
std::vector<OptionOrigin> option_origins(const Node& root);

}  // namespace onceward
