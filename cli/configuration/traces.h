#pragma once
// Where a process sends its traces, by its file and by OpenTelemetry's variables. What the file
// says counts; a variable fills in what it leaves out. Pure but for the default of `environment`,
// and for the host's name in resource_of(). Thread-safe as long as nobody sets variables.

#include <functional>
#include <optional>
#include <string>

#include "cli/configuration/configuration.h"

namespace onceward {

using Environment = std::function<std::optional<std::string>(const std::string&)>;

// The process's own.
std::optional<std::string> process_environment(const std::string& name);

// `endpoint` is an address with its path afterwards, or '' if traces are off.
TracesConfiguration with_environment(TracesConfiguration traces,
                                     const Environment& environment = process_environment);

// `service.name`, `service.instance.id` and what the file and OTEL_RESOURCE_ATTRIBUTES add.
std::vector<std::pair<std::string, std::string>> resource_of(const TracesConfiguration& traces,
                                                             const std::string& group);

}  // namespace onceward
