#pragma once
// The process's state as metrics, in Prometheus's text format. Pure. Base units, the prefix
// `onceward_`, the suffix `_total` for what only grows; labels never hold a key or an offset.

#include <string>

#include "cli/admin/process_status.h"

namespace onceward {

std::string metrics_text(const ProcessStatus& process);

}  // namespace onceward
