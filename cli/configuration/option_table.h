#pragma once
// All options, in the order of the reference, and what is made of them. Built once, read by any
// thread.

#include <string>
#include <vector>

#include "cli/configuration/option.h"

namespace onceward {

const std::vector<OptionSpec>& option_table();

// The table's parts; option_table() joins them.
extern const std::vector<OptionSpec> process_options;
extern const std::vector<OptionSpec> admin_options;
extern const std::vector<OptionSpec> trace_options;
extern const std::vector<OptionSpec> registry_options;
extern const std::vector<OptionSpec> topic_options;
extern const std::vector<OptionSpec> key_and_ledger_options;
extern const std::vector<OptionSpec> sink_options;
extern const std::vector<OptionSpec> result_options;
extern const std::vector<OptionSpec> webhook_options;
extern const std::vector<OptionSpec> upstream_options;  // `http.routes[].upstream`
extern const std::vector<OptionSpec> dead_letter_options;
std::vector<OptionSpec> outbox_options();
// With the options that a route to a sink shares with topics.
std::vector<OptionSpec> http_options();

// The same as a tree, by the parts of their paths.
struct OptionTree {
    std::string name;                  // `postgres`, `dsn`; '' for the root
    const OptionSpec* spec = nullptr;  // of a leaf
    bool list = false;                 // a list of such mappings (`topics[]`)
    std::vector<OptionTree> children;

    const OptionTree* find(const std::string& child) const;
    std::vector<std::string> names() const;
};

const OptionTree& option_tree();

// The table as a page for people and as a JSON Schema (draft 7) for editors.
std::string configuration_reference();  // docs/configuration.md
std::string configuration_schema();     // schemas/config.schema.json

}  // namespace onceward
