#pragma once
// All options, in the order of the reference.

#include <vector>

#include "cli/configuration/option.h"

namespace onceward {

const std::vector<OptionSpec>& option_table();

// The table's parts; option_table() joins them.
std::vector<OptionSpec> process_options();
std::vector<OptionSpec> topic_options();
std::vector<OptionSpec> key_and_ledger_options();
std::vector<OptionSpec> sink_options();
std::vector<OptionSpec> outbox_options();
std::vector<OptionSpec> result_options();
std::vector<OptionSpec> webhook_options();
std::vector<OptionSpec> http_options();
// `http.limits`.
std::vector<OptionSpec> http_limit_options();
// `http.routes[].upstream`.
std::vector<OptionSpec> upstream_options();

}  // namespace onceward
