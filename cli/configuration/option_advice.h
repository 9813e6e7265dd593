#pragma once
// What to say of a name that is not an option, and of an option that is missing. Pure; thread-safe.

#include <string>

#include "cli/configuration/option_table.h"

namespace onceward {

struct NameAdvice {
    std::string meant;  // the option of that place that was probably meant; '' if none is near
    std::string rest;   // the rest of the sentence that says that it is not an option
};
NameAdvice advice_on_name(const std::string& name, const OptionTree& tree, const std::string& path);

// A sentence, such as "Write `group: NAME`."
std::string what_to_write(const OptionSpec& spec);

}  // namespace onceward
