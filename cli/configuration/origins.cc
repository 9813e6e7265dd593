#include "cli/configuration/origins.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/configuration/option_table.h"

namespace onceward {
namespace {

// What the first `${...}` of a text names; '' if it has none.
std::string first_reference(const std::string& written) {
    for (std::size_t at = 0; at + 1 < written.size(); ++at) {
        if (written.compare(at, 2, "$$") == 0) {
            ++at;
        } else if (written.compare(at, 2, "${") == 0) {
            return written.substr(at + 2, written.find('}', at) - at - 2);
        }
    }
    return "";
}

// Some of librdkafka's properties are secrets, and the list of properties grows: only those that
// are named here are shown.
bool is_harmless_property(const std::string& name) {
    for (const char* ending : {".ms", ".bytes", ".kbytes", ".messages", ".protocol", ".type",
                               ".level", ".size", ".algorithm", ".reset"}) {
        if (name.ends_with(ending)) return true;
    }
    return name == "client.id" || name == "client.rack";
}

nlohmann::json value_of(const Node& node) {
    switch (node.kind) {
        case Node::Kind::null: return nullptr;
        case Node::Kind::scalar: return node.text;
        case Node::Kind::sequence: {
            auto list = nlohmann::json::array();
            for (const Node& item : node.items) list.push_back(value_of(item));
            return list;
        }
        case Node::Kind::mapping: {
            auto object = nlohmann::json::object();
            for (std::size_t i = 0; i < node.items.size(); ++i) {
                object[node.keys[i].name] = value_of(node.items[i]);
            }
            return object;
        }
    }
    return nullptr;
}

class OriginReader {
  public:
    explicit OriginReader(std::vector<OptionOrigin>& found) : found_(found) {}

    void read(const Node& node, const OptionTree& tree, const std::string& path) {
        if (tree.spec != nullptr && tree.children.empty()) return read_option(node, tree, path);
        if (node.kind == Node::Kind::sequence) {
            for (std::size_t i = 0; i < node.items.size(); ++i) {
                read(node.items[i], tree, path + "[" + std::to_string(i) + "]");
            }
            return;
        }
        if (node.kind == Node::Kind::scalar && tree.spec != nullptr) {
            return read_option(node, tree, path);
        }
        for (std::size_t i = 0; i < node.items.size() && node.kind == Node::Kind::mapping; ++i) {
            const std::string& name = node.keys[i].name;
            const OptionTree* child = tree.find(name);
            if (child == nullptr) continue;  // an error, of which the report says more
            read(node.items[i], *child, path.empty() ? name : path + "." + name);
        }
    }

  private:
    void read_option(const Node& node, const OptionTree& tree, const std::string& path) {
        const OptionType type = tree.spec->bind.type;
        if (type == OptionType::properties || type == OptionType::headers) {
            for (std::size_t i = 0; i < node.items.size(); ++i) {
                if (node.kind != Node::Kind::mapping) break;
                const std::string& name = node.keys[i].name;
                const bool shown = type == OptionType::properties && is_harmless_property(name);
                add(node.items[i], path + "." + name, !shown);
            }
            return;
        }
        add(node, path, type == OptionType::secret);
    }

    void add(const Node& node, const std::string& path, bool secret) {
        OptionOrigin origin{.path = path, .mark = node.mark};
        const std::string reference = first_reference(node.written);
        if (reference.starts_with("file:")) {
            // What somebody keeps in a file of its own is not for others to see.
            origin.source = OptionOrigin::Source::secret_file;
            origin.name = reference.substr(5);
            secret = true;
        } else if (!reference.empty()) {
            origin.source = OptionOrigin::Source::environment;
            origin.name = reference.substr(0, reference.find(':'));
        }
        origin.secret = secret;
        if (!secret) {
            const nlohmann::json value = value_of(node);
            origin.value =
                value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, replace_);
        }
        found_.push_back(std::move(origin));
    }

    static constexpr auto replace_ = nlohmann::json::error_handler_t::replace;
    std::vector<OptionOrigin>& found_;
};

}  // namespace

std::vector<OptionOrigin> option_origins(const Node& root) {
    std::vector<OptionOrigin> found;
    OriginReader(found).read(root, option_tree(), "");
    std::vector<OptionOrigin> defaults;
    for (const OptionSpec& spec : option_table()) {
        if (!spec.has_default() || spec.path.find("[]") != std::string::npos) continue;
        const auto is_it = [&](const OptionOrigin& origin) { return origin.path == spec.path; };
        if (std::ranges::any_of(found, is_it)) continue;
        defaults.push_back({.path = spec.path,
                            .value = spec.default_text,
                            .source = OptionOrigin::Source::standard});
    }
    found.insert(found.end(), defaults.begin(), defaults.end());
    return found;
}

}  // namespace onceward
