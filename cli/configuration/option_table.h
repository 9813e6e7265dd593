#pragma once
// All options, in the order of the reference.

#include <vector>

#include "cli/configuration/option.h"

namespace onceward {

const std::vector<OptionSpec>& option_table();

// The table's parts; option_table() joins them.
extern const std::vector<OptionSpec> process_options;
extern const std::vector<OptionSpec> topic_options;
extern const std::vector<OptionSpec> key_and_ledger_options;
extern const std::vector<OptionSpec> sink_options;
extern const std::vector<OptionSpec> result_options;
extern const std::vector<OptionSpec> webhook_options;
extern const std::vector<OptionSpec> http_limit_options;  // `http.limits`
extern const std::vector<OptionSpec> upstream_options;    // `http.routes[].upstream`
std::vector<OptionSpec> outbox_options();
// With the options that a route to a sink shares with topics.
std::vector<OptionSpec> http_options();

}  // namespace onceward
