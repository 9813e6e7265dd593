#include "cli/terminal/config_file.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>

#include "cli/terminal/option_checks.h"
#include "cli/terminal/output.h"

namespace onceward {
namespace {

constexpr const char* own_file = "./onceward.yaml";
constexpr const char* system_file = "/etc/onceward/onceward.yaml";
constexpr const char* variable_name = "ONCEWARD_CONFIG";

bool exists(const std::string& file) {
    std::error_code ignored;
    return std::filesystem::exists(file, ignored);
}

}  // namespace

std::string default_config_file(const char* variable,
                                const std::function<bool(const std::string&)>& is_there) {
    if (variable != nullptr && *variable != '\0') return variable;
    return !is_there(own_file) && is_there(system_file) ? system_file : own_file;
}

std::string ConfigFile::chosen() const {
    return is_named() ? named : default_config_file(std::getenv(variable_name), exists);
}

std::string ConfigFile::path() const {
    const std::string file = chosen();
    static bool said = false;
    if (!is_named() && !said && exists(file)) note("the configuration is " + file);
    said = true;
    return file;
}

CLI::Option* add_config_option(CLI::App& command, ConfigFile& file) {
    return command
        .add_option("-c,--config", file.named,
                    "The configuration; default: the file that ONCEWARD_CONFIG names, else "
                    "./onceward.yaml, else /etc/onceward/onceward.yaml")
        ->type_name("FILE")
        ->check(not_empty("a file's name"));
}

}  // namespace onceward
