#pragma once
// The list of migrations as the last program before the first release recorded it.

#include <string>

namespace onceward::support {

// SQL for the schema's owner that puts this list in place of the list in `schema`.
std::string record_old_migrations(const std::string& schema);

}  // namespace onceward::support
