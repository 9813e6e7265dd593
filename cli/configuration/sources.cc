#include <array>

#include "cli/configuration/values.h"

namespace onceward {
namespace {

constexpr const char* source_help =
    "a path in the payload, or one of `{field: ...}`, `{header: ...}`, `{metadata: ...}`, "
    "`{constant: ...}`";
constexpr const char* key_source_help =
    "`record_key`, `cloudevents`, `payload_sha256`, `coordinates`, `{header: NAME}` or "
    "`{field: PATH}`";

const std::vector<std::string> metadata_names = {"topic",     "partition",  "offset",
                                                 "timestamp", "record_key", "payload"};

std::string unknown_key(const std::string& name, const std::vector<std::string>& known) {
    return "`" + name + "` is not an option here" + guess(name, known) + " Known are " +
           one_of(known) + ".";
}

bool read_flag(const Node& node, const std::string& path, bool& flag, Report& report) {
    if (!expect_scalar(node, path, "`true` or `false`", report)) return false;
    if (node.quoted || (node.text != "true" && node.text != "false")) {
        report.error(node.mark, path, shown(node) + " is neither. Write `true` or `false`.");
        return false;
    }
    flag = node.text == "true";
    return true;
}

std::optional<FieldSource> read_metadata(const Node& node, const std::string& path,
                                         Report& report) {
    if (node.text == "record_key") return FieldSource{FieldSource::Kind::record_key, ""};
    if (node.text == "payload") return FieldSource{FieldSource::Kind::payload, ""};
    for (const std::string& name : metadata_names) {
        if (node.text == name) return FieldSource{FieldSource::Kind::metadata, name};
    }
    return report.error(node.mark, path,
                        shown(node) + " is not metadata" + guess(node.written, metadata_names) +
                            " Write " + one_of(metadata_names) + ".");
}

// One member of a source's mapping; nullopt if it names no kind.
std::optional<FieldSource> read_kind(const std::string& kind, const Node& node,
                                     const std::string& path, Report& report) {
    if (!expect_scalar(node, path, "a text", report)) return std::nullopt;
    if (kind == "metadata") return read_metadata(node, path, report);
    if (kind == "header") return FieldSource{FieldSource::Kind::header, node.text};
    if (kind == "constant") return FieldSource{FieldSource::Kind::constant, node.text};
    return FieldSource{FieldSource::Kind::field, node.text};
}

// A source and, where it is allowed, `required`.
struct ReadSource {
    FieldSource source;
    bool required = false;
};

std::optional<ReadSource> read_any_source(const Node& node, const std::string& path,
                                          bool with_required, Report& report) {
    ReadSource result;
    if (node.kind == Node::Kind::scalar) {
        if (!expect_scalar(node, path, source_help, report)) return std::nullopt;
        result.source.text = node.text;
        return result;
    }
    if (node.kind != Node::Kind::mapping) {
        return report.error(node.mark, path,
                            shown(node) + " is not a source. Write " + source_help + ".");
    }
    std::vector<std::string> known = {"field", "header", "metadata", "constant"};
    if (with_required) known.emplace_back("required");
    bool good = true;
    int kinds = 0;
    for (std::size_t index = 0; index < node.items.size(); ++index) {
        const std::string& name = node.keys[index].name;
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            report.error(node.keys[index].mark, path, unknown_key(name, known));
            good = false;
        } else if (name == "required") {
            good = read_flag(node.items[index], path, result.required, report) && good;
        } else {
            ++kinds;
            const auto source = read_kind(name, node.items[index], path, report);
            if (source) result.source = *source;
            good = good && source;
        }
    }
    if (good && kinds != 1) {
        report.error(node.mark, path,
                     std::string(kinds == 0 ? "The source is missing" : "There are two sources") +
                         ". Write exactly one of `field`, `header`, `metadata`, `constant`.");
        good = false;
    }
    return good ? std::optional(result) : std::nullopt;
}

std::optional<KeySource::Kind> plain_kind(const std::string& name) {
    static const std::array<std::pair<const char*, KeySource::Kind>, 4> kinds{{
        {"record_key", KeySource::Kind::record_key},
        {"cloudevents", KeySource::Kind::cloudevents},
        {"payload_sha256", KeySource::Kind::payload_sha256},
        {"coordinates", KeySource::Kind::coordinates},
    }};
    for (const auto& [text, kind] : kinds) {
        if (name == text) return kind;
    }
    return std::nullopt;
}

std::optional<KeySource> read_named_key_source(const Node& node, const std::string& path,
                                               Report& report) {
    const std::vector<std::string> known = {"header", "field", "record_key", "strip_quotes",
                                            "kind"};
    KeySource source;
    int kinds = 0;
    bool good = true;
    for (std::size_t index = 0; index < node.items.size(); ++index) {
        const std::string& name = node.keys[index].name;
        const Node& item = node.items[index];
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            report.error(node.keys[index].mark, path, unknown_key(name, known));
            good = false;
        } else if (name == "strip_quotes") {
            good = read_flag(item, path, source.strip_quotes, report) && good;
        } else if (!expect_scalar(item, path, "a text", report)) {
            good = false;
        } else if (item.text.empty()) {
            report.error(item.mark, path, "`" + name + "` is empty. Write its name.");
            good = false;
        } else if (name == "kind") {
            source.kind_name = item.text;
        } else {
            ++kinds;
            source.kind = name == "header"  ? KeySource::Kind::header
                          : name == "field" ? KeySource::Kind::field
                                            : KeySource::Kind::record_key;
            if (source.kind != KeySource::Kind::record_key) source.name = item.text;
        }
    }
    if (good && kinds != 1) {
        report.error(node.mark, path,
                     "A key source names one place. Write " + std::string(key_source_help) + ".");
        good = false;
    }
    return good ? std::optional(source) : std::nullopt;
}

}  // namespace

std::optional<FieldSource> read_source(const Node& node, const std::string& path, Report& report) {
    const auto read = read_any_source(node, path, false, report);
    return read ? std::optional(read->source) : std::nullopt;
}

std::optional<std::vector<ColumnOptions>> read_columns(const Node& node, const std::string& path,
                                                       Report& report) {
    if (node.kind != Node::Kind::mapping || node.items.empty()) {
        return report.error(node.mark, path,
                            shown(node) +
                                " is not a mapping of columns. Write a mapping from each column to "
                                "its source, such as `amount: /amount`.");
    }
    std::vector<ColumnOptions> columns;
    bool good = true;
    for (std::size_t index = 0; index < node.items.size(); ++index) {
        const Node::Key& key = node.keys[index];
        const std::string column_path = path + "." + key.name;
        report.locate(column_path, key.mark);
        const auto read = read_any_source(node.items[index], column_path, true, report);
        good = good && read;
        if (read) columns.push_back({key.name, read->source, read->required, key.mark.line});
    }
    if (!good) report.unknown(path);
    return good ? std::optional(columns) : std::nullopt;
}

std::optional<FingerprintOptions> read_fingerprint(const Node& node, const std::string& path,
                                                   Report& report) {
    const std::string wanted = "`none`, `payload` or `{fields: [PATH, ...]}`";
    FingerprintOptions options;
    if (node.kind == Node::Kind::mapping) {
        const Node* const fields = node.items.size() == 1 ? node.find("fields") : nullptr;
        if (fields == nullptr) {
            return report.error(node.mark, path,
                                "This is not a fingerprint. Write " + wanted + ".");
        }
        auto paths = read_texts(*fields, path, report);
        if (!paths) return std::nullopt;
        options.of = FingerprintOptions::Of::fields;
        options.fields = std::move(*paths);
        return options;
    }
    if (!expect_scalar(node, path, wanted, report)) return std::nullopt;
    if (node.text == "payload") {
        options.of = FingerprintOptions::Of::payload;
    } else if (node.text != "none") {
        return report.error(node.mark, path,
                            shown(node) + " is not a fingerprint" +
                                guess(node.written, {"none", "payload", "fields"}) + " Write " +
                                wanted + ".");
    }
    return options;
}

std::optional<std::vector<KeySource>> read_key_sources(const Node& node, const std::string& path,
                                                       Report& report) {
    if (node.kind != Node::Kind::sequence || node.items.empty()) {
        return report.error(node.mark, path,
                            shown(node) + " is not a list of key sources. Write a list of " +
                                key_source_help + ".");
    }
    std::vector<KeySource> sources;
    bool good = true;
    for (std::size_t index = 0; index < node.items.size(); ++index) {
        const Node& item = node.items[index];
        const std::string item_path = path + "[" + std::to_string(index) + "]";
        report.locate(item_path, item.mark);
        if (item.kind == Node::Kind::mapping) {
            const auto source = read_named_key_source(item, item_path, report);
            good = good && source;
            if (source) sources.push_back(*source);
            continue;
        }
        if (!expect_scalar(item, item_path, key_source_help, report)) {
            good = false;
        } else if (const auto kind = plain_kind(item.text)) {
            sources.emplace_back().kind = *kind;
        } else {
            report.error(item.mark, item_path,
                         shown(item) + " is not a key source" +
                             guess(item.written,
                                   {"record_key", "cloudevents", "payload_sha256", "coordinates"}) +
                             " Write " + key_source_help + ".");
            good = false;
        }
    }
    if (!good) report.unknown(path);
    return good ? std::optional(sources) : std::nullopt;
}

}  // namespace onceward
