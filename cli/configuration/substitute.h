#pragma once
// Variables in a configuration's values: ${NAME}, ${NAME:-default}, ${NAME:?message}, ${file:path};
// `$$` is a `$`. They are put in after the YAML was parsed and into scalars only, so no value can
// add keys or lines.

#include <filesystem>

#include "cli/configuration/load.h"
#include "cli/configuration/yaml_tree.h"

namespace onceward {

// Replaces the variables in all scalars below `node`. What is not set or not readable is an error
// or, without strict_environment, a warning, and leaves Node::resolved false. `folder`: where
// relative ${file:...} paths start.
void substitute(Node& node, const std::filesystem::path& folder, const LoadOptions& options,
                Report& report);

}  // namespace onceward
