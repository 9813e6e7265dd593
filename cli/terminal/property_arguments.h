#pragma once
// librdkafka's properties as a command line has them: `-X name=value`, any number of times.

#include <map>
#include <string>
#include <vector>

#include "cli/terminal/exit_code.h"
#include "dedup/base/secret.h"

namespace onceward {

// Throws UsageError for what is no property. If a name is given twice, the last value counts.
inline std::map<std::string, Secret> property_arguments(const std::vector<std::string>& given) {
    std::map<std::string, Secret> properties;
    for (const std::string& property : given) {
        const std::size_t equals = property.find('=');
        usage_error_if(equals == std::string::npos || equals == 0,
                       "-X " + property + ": write it as name=value");
        properties[property.substr(0, equals)] = property.substr(equals + 1);
    }
    return properties;
}

}  // namespace onceward
