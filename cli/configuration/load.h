#pragma once
// Reads a configuration file and says everything that is wrong with it in one go, with file, line
// and column. Opens no connection. Thread-safe as long as nobody changes the environment.

#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/configuration/configuration.h"

namespace onceward {

struct Finding {
    enum class Severity : std::uint8_t { error, warning };
    Severity severity = Severity::error;
    Mark mark;
    std::string path;     // such as `topics[0].key.sources`; '' for the file as a whole
    std::string message;  // what is wrong and what to write instead; never holds a secret
};

// `file:line:column: error: message`, with the option's path.
std::string to_text(const Finding& finding, const std::string& file);
// An array of objects: file, line, column, severity, path, message.
std::string findings_json(const std::vector<Finding>& findings, const std::string& file);

struct LoadOptions {
    // A variable that is not set is an error (`run`, `check --strict-env`) or a warning (`check`,
    // `describe`).
    bool strict_environment = true;
    // Where variables come from; the process's environment if empty.
    std::function<std::optional<std::string>(const std::string&)> environment;
};

struct LoadResult {
    Configuration configuration;    // only to be used if usable()
    std::vector<Finding> findings;  // in the file's order
    // Options whose values depend on a variable that is not set.
    std::set<std::string> unknown{};
    std::vector<Finding> passwords{};  // that the file holds: warnings for `check` alone
    bool usable() const;  // no error among the findings
};

LoadResult load_configuration(const std::string& file, const LoadOptions& options = {});
// The same from a text; `file` is for messages and the folder that relative paths start from.
LoadResult load_configuration_text(const std::string& text, const std::string& file,
                                   const LoadOptions& options = {});

// The second part of `check`: it checks what a configuration names on this machine (descriptors,
// message types, paths). Opens no connection. Adds to the findings. REQUIRES: result.usable().
void check_setup(LoadResult& result);

// A configuration that cannot be used. The program ends with exit 78 (EX_CONFIG).
class ConfigurationError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
    // What is wrong with that file; the text is a line for each.
    ConfigurationError(std::vector<Finding> wrong, std::string in_file);
    std::vector<Finding> findings;
    std::string file;
};

// For the commands: the configuration, without its warnings, which `check` shows. Throws
// ConfigurationError.
Configuration load_or_throw(const std::string& file);
// What was loaded from the file, with its warnings logged. Throws ConfigurationError.
Configuration usable_or_throw(LoadResult result, const std::string& file);

}  // namespace onceward
