#pragma once
// Walks a file's tree along the table of options and fills a Configuration. Used once, by one
// thread.

#include <string>

#include "cli/configuration/option_tree.h"
#include "cli/configuration/report.h"
#include "cli/configuration/yaml_tree.h"

namespace onceward {

// Reads `root` into `configuration`; defaults are bound where the file is silent. Everything that
// does not fit is in the report.
void read_configuration(const Node& root, Configuration& configuration, Report& report);

}  // namespace onceward
