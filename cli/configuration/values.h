#pragma once
// From a file's tree to a Configuration, and from a node of it to an option's value, by the
// option's type. Used by one thread.

#include <optional>
#include <string>

#include "cli/configuration/option.h"
#include "cli/configuration/report.h"
#include "cli/configuration/yaml_tree.h"

namespace onceward {

// Reads `root` into `configuration`; defaults are bound where the file is silent. Everything that
// does not fit is in the report.
void read_configuration(const Node& root, Configuration& configuration, Report& report);

// Returns nullopt if the node does not fit; the report then says why and what to write. `path` is
// the option's place, such as `topics[0].start`.
std::optional<OptionValue> read_value(const OptionSpec& spec, const Node& node,
                                      const std::string& path, Report& report);

// The value of a default's text. REQUIRES: it fits the type.
OptionValue default_value(const OptionSpec& spec);

// A limit of a number, with its unit.
std::string limit_text(const OptionSpec& spec, std::int64_t limit);

// The parts of read_value() for sources (sources.cc).
std::optional<FieldSource> read_source(const Node& node, const std::string& path, Report& report);
std::optional<std::vector<ColumnOptions>> read_columns(const Node& node, const std::string& path,
                                                       Report& report);
std::optional<std::vector<KeySource>> read_key_sources(const Node& node, const std::string& path,
                                                       Report& report);

std::optional<FingerprintOptions> read_fingerprint(const Node& node, const std::string& path,
                                                   Report& report);
std::optional<std::vector<std::string>> read_texts(const Node& node, const std::string& path,
                                                   Report& report);

// The end of a sentence about an unknown name: `; did you mean ...?`, or a full stop.
std::string guess(const std::string& name, const std::vector<std::string>& known);
// `a`, `b` or `c`.
std::string one_of(const std::vector<std::string>& names);
// What the node contains, for messages: "a list", "`5`", ...; never the text of a variable's value.
std::string shown(const Node& node);
// Whether the node is a scalar whose value is known; else reports what is wrong. `wanted` says what
// to write.
bool expect_scalar(const Node& node, const std::string& path, const std::string& wanted,
                   Report& report);

}  // namespace onceward
