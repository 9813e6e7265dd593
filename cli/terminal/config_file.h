#pragma once
// Which configuration file a command reads: the one of -c, else that of ONCEWARD_CONFIG, else
// ./onceward.yaml, else /etc/onceward/onceward.yaml. The same for all commands. Plain values.

#include <functional>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace onceward {

struct ConfigFile {
    std::string named;  // by -c; '' if it was not given

    bool is_named() const { return !named.empty(); }
    std::string chosen() const;
    // The same. Unless it was named, a line on standard error says once which file was taken.
    std::string path() const;
};

// If none was named. ./onceward.yaml if none of the files exists. Pure, except for `exists`.
std::string default_config_file(const char* variable,
                                const std::function<bool(const std::string&)>& exists);

// Adds -c/--config. `file` must outlive the program's run.
CLI::Option* add_config_option(CLI::App& command, ConfigFile& file);

}  // namespace onceward
