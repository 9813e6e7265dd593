#include "cli/terminal/json_output.h"

#include <iostream>
#include <nlohmann/json.hpp>

namespace onceward {

void print_json(const nlohmann::json& json) {
    std::cout << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

}  // namespace onceward
