#include "cli/connectors/connector_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "cli/configuration/yaml_tree.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

using Options = std::map<std::string, std::string>;

std::string trimmed(const std::string& text) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string::npos) return "";
    return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

Options options_of(const nlohmann::json& object) {
    Options options;
    for (const auto& [name, value] : object.items()) {
        if (value.is_structured()) {
            throw ConnectorError("The option `" + name + "` is no text, number or truth value.");
        }
        options[name] = value.is_string() ? trimmed(value.get<std::string>())
                        : value.is_null() ? ""
                                          : value.dump();
    }
    return options;
}

Connector named(Options options, std::string name) {
    if (const auto own = options.find("name"); own != options.end()) {
        if (name.empty()) name = own->second;
        options.erase(own);
    }
    return {name.empty() ? "connector" : name, ConnectorOptions(std::move(options))};
}

Connector from_json(const std::string& text) {
    const auto document = nlohmann::json::parse(text, nullptr, false, true);
    if (!document.is_object()) throw ConnectorError("The file is not a JSON object.");
    const auto config = document.find("config");
    if (config == document.end()) return named(options_of(document), "");
    if (!config->is_object()) throw ConnectorError("The file's `config` is not a JSON object.");
    const auto name = document.find("name");
    return named(options_of(*config),
                 name != document.end() && name->is_string() ? name->get<std::string>() : "");
}

// A backslash keeps the next character; \n, \t and \r are what they are elsewhere.
std::string without_escapes(const std::string& text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            plain += text[i];
            continue;
        }
        const char next = text[++i];
        plain += next == 'n' ? '\n' : next == 't' ? '\t' : next == 'r' ? '\r' : next;
    }
    return plain;
}

Connector from_properties(const std::string& text) {
    std::istringstream lines(text);
    Options options;
    for (std::string line; std::getline(lines, line);) {
        line = trimmed(line);
        while (line.ends_with('\\')) {
            line.pop_back();
            std::string more;
            if (!std::getline(lines, more)) break;
            line += trimmed(more);
        }
        if (line.empty() || line.front() == '#' || line.front() == '!') continue;
        const std::size_t end = line.find_first_of("=:");
        if (end == std::string::npos) {
            throw ConnectorError("The line `" + line + "` is no property: it has no `=`.");
        }
        options[trimmed(line.substr(0, end))] = without_escapes(trimmed(line.substr(end + 1)));
    }
    return named(std::move(options), "");
}

const Node& part(const Node& node, const std::string& name) {
    const Node* found = node.find(name);
    if (found == nullptr || found->kind != Node::Kind::mapping) {
        throw ConnectorError("The file has no `" + name +
                             "`; a KafkaConnector of Strimzi has `spec` with `config`.");
    }
    return *found;
}

Connector from_yaml(const std::string& text) {
    Report report;
    const std::optional<Node> document = parse_yaml(text, report);
    if (!document || document->kind != Node::Kind::mapping) {
        throw ConnectorError("The file is neither JSON nor properties nor YAML.");
    }
    const Node& spec = part(*document, "spec");
    const Node& config = part(spec, "config");
    Options options;
    for (std::size_t i = 0; i < config.keys.size(); ++i) {
        options[config.keys[i].name] = config.items[i].text;
    }
    const auto take = [&](const Node& from, const char* name, const char* option) {
        const Node* found = from.find(name);
        if (found != nullptr && !found->text.empty()) options.emplace(option, found->text);
    };
    take(spec, "class", "connector.class");
    take(spec, "tasksMax", "tasks.max");
    const Node* metadata = document->find("metadata");
    const Node* name = metadata == nullptr ? nullptr : metadata->find("name");
    return named(std::move(options), name == nullptr ? "" : name->text);
}

}  // namespace

std::vector<std::string> split_list(const std::string& text) {
    std::vector<std::string> parts;
    std::istringstream all(text);
    for (std::string one; std::getline(all, one, ',');) {
        if (one = trimmed(one); !one.empty()) parts.push_back(one);
    }
    return parts;
}

std::optional<std::string> ConnectorOptions::find(const std::string& name) {
    asked_.insert(name);
    const auto found = options_.find(name);
    if (found == options_.end() || found->second.empty()) return std::nullopt;
    return found->second;
}

std::string ConnectorOptions::text(const std::string& name, const std::string& otherwise) {
    return find(name).value_or(otherwise);
}

bool ConnectorOptions::flag(const std::string& name, bool otherwise) {
    return lower_case(text(name, otherwise ? "true" : "false")) == "true";
}

std::vector<std::string> ConnectorOptions::list(const std::string& name) {
    return split_list(text(name, ""));
}

std::string ConnectorOptions::either(const std::string& one, const std::string& other,
                                     const std::string& otherwise) {
    const std::optional<std::string> second = find(other);
    return find(one).value_or(second.value_or(otherwise));
}

std::map<std::string, std::string> ConnectorOptions::below(const std::string& prefix) {
    Options found;
    for (const auto& [name, value] : options_) {
        if (!name.starts_with(prefix)) continue;
        asked_.insert(name);
        found[name.substr(prefix.size())] = value;
    }
    return found;
}

ConnectorOptions ConnectorOptions::with(const std::string& name, const std::string& value) const {
    ConnectorOptions more = *this;
    more.options_[name] = value;
    return more;
}

std::vector<std::string> ConnectorOptions::rest() const {
    std::vector<std::string> names;
    for (const auto& [name, value] : options_) {
        if (!asked_.contains(name)) names.push_back(name);
    }
    return names;
}

Connector read_connector(const std::string& text) {
    const std::string whole = trimmed(text);
    if (whole.empty()) throw ConnectorError("The file is empty.");
    if (whole.front() == '{') return from_json(whole);
    static const std::regex property(R"(^\s*[A-Za-z][\w.-]*\s*=)");
    std::istringstream lines(whole);
    for (std::string line; std::getline(lines, line);) {
        if (std::regex_search(line, property)) return from_properties(whole);
    }
    return from_yaml(whole);
}

}  // namespace onceward
