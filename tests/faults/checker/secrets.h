#pragma once
// Looks for canaries (I14): secrets that were planted in the configuration and may stand in no log,
// no dump of metrics or configuration, no error. Reads every regular file below the folder; those
// whose name is in `except` hold the secret on purpose. A missing folder is a std::runtime_error.

#include <filesystem>
#include <string>
#include <vector>

#include "tests/faults/checker/evidence.h"

namespace onceward::checker {

std::vector<SecretFound> find_secrets(const std::filesystem::path& folder,
                                      const std::vector<std::string>& canaries,
                                      const std::vector<std::string>& except = {});

}  // namespace onceward::checker
