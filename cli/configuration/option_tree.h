#pragma once
// The table of options as a tree, by the parts of their paths. Built once, read by any thread.

#include <string>
#include <vector>

#include "cli/configuration/option.h"

namespace onceward {

struct OptionTree {
    std::string name;                  // `postgres`, `dsn`; '' for the root
    const OptionSpec* spec = nullptr;  // of a leaf
    bool list = false;                 // a list of such mappings (`topics[]`)
    std::vector<OptionTree> children;

    const OptionTree* find(const std::string& child) const;
    std::vector<std::string> names() const;
};

const OptionTree& option_tree();

}  // namespace onceward
