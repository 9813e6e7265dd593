#include "cli/connectors/connector_transforms.h"

#include <functional>
#include <regex>

#include "cli/configuration/yaml_text.h"

namespace onceward {
namespace {

using Options = std::map<std::string, std::string>;

std::string option_of(const Options& options, const std::string& name,
                      const std::string& older = "") {
    const auto found = options.find(name);
    if (found != options.end()) return found->second;
    const auto other = options.find(older);
    return other == options.end() ? "" : other->second;
}

// `org.apache.kafka.connect.transforms.ReplaceField$Value` -> `ReplaceField`, and what it changes.
struct Kind {
    std::string name;
    bool of_key = false;
};

Kind kind_of(const std::string& type) {
    Kind kind{type.substr(type.find_last_of('.') + 1)};
    const std::size_t part = kind.name.find('$');
    if (part != std::string::npos) {
        kind.of_key = kind.name.substr(part + 1) == "Key";
        kind.name.resize(part);
    }
    return kind;
}

void rename_fields(const Options& options, ConnectorTransforms& all) {
    for (const std::string& pair : split_list(option_of(options, "renames"))) {
        const std::size_t colon = pair.find(':');
        if (colon != std::string::npos) {
            all.renamed[pair.substr(colon + 1)] = pair.substr(0, colon);
        }
    }
    const auto add = [](std::vector<std::string>& to, const std::string& text) {
        for (std::string& name : split_list(text)) to.push_back(std::move(name));
    };
    add(all.left_out, option_of(options, "exclude", "blacklist"));
    add(all.only, option_of(options, "include", "whitelist"));
}

// Connect marks a field's name with `!` (required) or `?`.
std::string without_mark(std::string name) {
    if (name.ends_with('!') || name.ends_with('?')) name.pop_back();
    return name;
}

void insert_fields(const Options& options, ConnectorTransforms& all) {
    for (const char* const what : {"topic", "partition", "offset", "timestamp"}) {
        const std::string name = without_mark(option_of(options, std::string(what) + ".field"));
        if (!name.empty()) {
            all.added.push_back({name, "{metadata: " + std::string(what) + "}"});
        }
    }
    const std::string name = without_mark(option_of(options, "static.field"));
    if (name.empty()) return;
    all.added.push_back(
        {name, "{constant: " + yaml_value(option_of(options, "static.value")) + "}"});
}

void route(const Options& options, ConnectorTransforms& all) {
    all.routes.emplace_back(option_of(options, "regex"), option_of(options, "replacement"));
}

void flatten(const Options& options, ConnectorTransforms& all) {
    const std::string delimiter = option_of(options, "delimiter");
    all.delimiter = delimiter.empty() ? "." : delimiter;
}

void unwrap(const Options& options, ConnectorTransforms& all) {
    all.unwraps = true;
    for (const char* const name : {"add.fields", "add.headers"}) {
        if (option_of(options, name).empty()) continue;
        all.notes.push_back({name,
                             "Fields that the transform adds are not added. Outside the envelope's "
                             "row nothing of a change event can become a column."});
    }
}

void key_from_value(const Options& options, ConnectorTransforms& all) {
    all.key_fields = split_list(option_of(options, "fields"));
}

void apply(const std::string& name, const Options& options, ConnectorTransforms& all) {
    const std::string type = option_of(options, "type");
    const Kind kind = kind_of(type);
    const std::string option = "transforms." + name;
    if (options.contains("predicate")) {
        all.notes.push_back({option,
                             "It applies to some messages only, by a predicate, and has no "
                             "equal. It was left out."});
        return;
    }
    using Apply = std::function<void(const Options&, ConnectorTransforms&)>;
    static const std::map<std::string, Apply> known = {
        {"ExtractNewRecordState", unwrap}, {"RegexRouter", route}, {"ReplaceField", rename_fields},
        {"InsertField", insert_fields},    {"Flatten", flatten},   {"ValueToKey", key_from_value},
    };
    // What a key becomes counts for Connect's primary keys only; the row has the fields as well.
    if (kind.of_key && (kind.name == "ExtractField" || kind.name == "ReplaceField")) return;
    if (const auto found = known.find(kind.name); found != known.end() && !kind.of_key) {
        found->second(options, all);
        return;
    }
    static const std::map<std::string, std::string> advice = {
        {"TimestampConverter", "Write the conversion at the column; docs/types.md lists them."},
        {"Cast", "The column's type decides: a value that does not fit is a dead letter."},
        {"Filter", "Messages are not filtered. A function as the sink can leave one out."},
        {"HoistField", "Let the column's path lead to the value: `''` is the whole payload."},
        {"ExtractField", "Let the columns' paths begin at that field."},
        {"MaskField", "Leave the column out, or let a function as the sink change the value."},
        {"HeaderFrom", "A header can be a column of its own: `{header: NAME}`."},
        {"TimestampRouter", "A topic has one table. Take a partitioned one."},
    };
    const auto found = advice.find(kind.name);
    all.notes.push_back({option, "`" + type + "` has no equal and was left out." +
                                     (found == advice.end() ? "" : " " + found->second)});
}

}  // namespace

ConnectorTransforms read_transforms(ConnectorOptions& options) {
    ConnectorTransforms all;
    for (const std::string& name : options.list("transforms")) {
        apply(name, options.below("transforms." + name + "."), all);
    }
    if (!options.below("predicates.").empty() || options.find("predicates")) {
        all.notes.push_back({"predicates", "Predicates have no equal."});
    }
    return all;
}

std::string routed(const std::string& topic, const ConnectorTransforms& transforms) {
    std::string name = topic;
    for (const auto& [pattern, replacement] : transforms.routes) {
        try {
            // Java's possessive quantifiers match the same names here.
            std::string plain;
            for (const char letter : pattern) {
                if (letter == '+' && plain.ends_with('+')) continue;
                plain += letter;
            }
            const std::regex regex(plain, std::regex::ECMAScript);
            if (std::regex_match(name, regex)) {
                name = std::regex_replace(name, regex, replacement);
            }
        } catch (const std::regex_error&) {
            throw ConnectorError("The regular expression `" + pattern +
                                 "` of a RegexRouter cannot be read here.");
        }
    }
    return name;
}

}  // namespace onceward
