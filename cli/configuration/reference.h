#pragma once
// The table of options as a page for people and as a JSON Schema (draft 7) for editors. Pure.

#include <string>

namespace onceward {

std::string configuration_reference();  // docs/configuration.md
std::string configuration_schema();     // schemas/config.schema.json

}  // namespace onceward
