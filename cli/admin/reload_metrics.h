#pragma once
// What /metrics says of reloads. Pure.

#include <optional>
#include <string>

#include "cli/admin/process_status.h"

namespace onceward {

// In Prometheus's text format; '' if the process cannot reload.
std::string reload_metrics(const std::optional<ReloadState>& reload);

}  // namespace onceward
