#pragma once
// The options of `registries`, and what ties topics to them. Pure, except that it checks whether
// named files exist.

#include "cli/configuration/configuration.h"
#include "cli/configuration/report.h"

namespace onceward {

// Which registry each topic's schemas come from: what it names; else the only one, if its format
// cannot do without. A registry implies the framing that has the schema's id.
void tie_registries(Configuration& configuration, Report& report);
void check_registries(const Configuration& configuration, Report& report);

// Whether `urls` takes it: an address of HTTP without a login, a query or a fragment.
bool is_registry_address(const std::string& url);

}  // namespace onceward
