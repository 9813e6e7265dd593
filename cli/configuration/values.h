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

// What the node contains, for messages: "a list", "`5`", ...; never the text of a variable's value.
std::string shown(const Node& node);
// The same where a mapping or a list belongs. A value in its place may be a password, so it is not
// shown.
std::string shown_kind(const Node& node);

// What is written at an option's place, such as `topics[0].start`, and the report of its faults.
// It borrows node and report.
struct Written {
    const Node& node;
    std::string path;
    Report& report;

    // An error; nullopt is what a reader returns then.
    std::nullopt_t error(const std::string& message) const {
        return report.error(node.mark, path, message);
    }
    // The same, beginning with what is written.
    std::nullopt_t refuse(const std::string& fault) const { return error(shown(node) + fault); }
    std::nullopt_t refuse_kind(const std::string& fault) const {
        return error(shown_kind(node) + fault);
    }
    // Whether it is a scalar whose value is known; else reports what is wrong. `wanted` says what
    // to write.
    bool scalar(const std::string& wanted) const;
    // Another part of the same option.
    Written part(const Node& other) const { return {other, path, report}; }
    // A part with a place of its own, by its key or its number; the report learns the place.
    Written entry(std::size_t index) const;
};

// Returns nullopt if it does not fit; the report then says why and what to write.
std::optional<OptionValue> read_value(const OptionSpec& spec, const Written& at);

// The value of a default's text. REQUIRES: it fits the type.
OptionValue default_value(const OptionSpec& spec);

// The value in one form, however it was written. It may be a secret.
Secret canonical_text(const OptionValue& value);

// A limit of a number, with its unit.
std::string limit_text(const OptionSpec& spec, std::int64_t limit);

// The parts of read_value() for sources (sources.cc).
std::optional<FieldSource> read_source(const Written& at);
std::optional<std::vector<ColumnOptions>> read_columns(const Written& at);
// One of `convert`, `default` and `lossy` of a column; false if it does not fit (conversions.cc).
bool read_conversion(const std::string& option, const Written& at, ColumnConversion& conversion);
std::optional<std::vector<KeySource>> read_key_sources(const Written& at);
// `whole`: what stands for the whole payload or request.
std::optional<FingerprintOptions> read_fingerprint(const Written& at, const std::string& whole);
std::optional<MintedSource> read_minted(const Written& at);
std::optional<std::vector<std::string>> read_texts(const Written& at);

// The end of a sentence about an unknown name: `; did you mean ...?`, or a full stop.
std::string guess(const std::string& name, const std::vector<std::string>& known);
// `a`, `b` or `c`.
std::string one_of(const std::vector<std::string>& names);

}  // namespace onceward
