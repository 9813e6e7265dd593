#pragma once
// The process's state as metrics, in Prometheus's text format. Pure.
// Base units, `onceward_` in front, `_total` behind what only grows; labels never hold a key or an
// offset.

#include <string>

#include "cli/admin/process_status.h"

namespace onceward {

std::string metrics_text(const ProcessStatus& process);

}  // namespace onceward
