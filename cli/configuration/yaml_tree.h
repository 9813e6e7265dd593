#pragma once
// A YAML document as a tree in which every value knows its place in the file.
// yaml-cpp's own nodes take the last of two equal keys silently; here a duplicate is a finding, as
// are anchors, aliases, tags and a second document, none of which a configuration needs.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/configuration/report.h"

namespace onceward {

struct Node {
    enum class Kind : std::uint8_t { null, scalar, sequence, mapping };
    struct Key {
        std::string name;
        Mark mark;
    };
    Kind kind = Kind::null;
    Mark mark{};
    std::string text{};     // a scalar's value, variables put in
    std::string written{};  // the same as written in the file: what messages may show
    bool quoted = false;
    bool resolved = true;       // false: a variable in it is not set, so its value is not known
    std::vector<Key> keys{};    // of a mapping; keys[i] belongs to items[i]
    std::vector<Node> items{};  // of a mapping or a sequence

    const Node* find(const std::string& name) const;
};

// Returns nullopt if the text is not YAML at all; the report says why.
std::optional<Node> parse_yaml(const std::string& file, Report& report);

// Whether a variable can have this name.
bool is_variable_name(const std::string& text);

// Variables in values: ${NAME}, ${NAME:-default}, ${NAME:?message}, ${file:path}; `$$` is a `$`.
// They are put in after the YAML was parsed and into scalars only, so no value can add keys or
// lines. Replaces them in all scalars below `node`. What is not set or not readable is an error or,
// without strict_environment, a warning, and leaves Node::resolved false. `folder`: where relative
// ${file:...} paths start.
void substitute(Node& node, const std::filesystem::path& folder, const LoadOptions& options,
                Report& report);

// A warning for each password that the file itself holds, in a connection string or as a secret
// property of librdkafka. It does not show the password.
std::vector<Finding> clear_passwords(const Node& root);

}  // namespace onceward
