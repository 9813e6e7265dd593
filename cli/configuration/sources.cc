#include <algorithm>

#include "cli/configuration/values.h"

namespace onceward {
namespace {

constexpr const char* source_help =
    "a path in the payload, or one of `{field: ...}`, `{header: ...}`, `{metadata: ...}`, "
    "`{constant: ...}`";
constexpr const char* key_source_help =
    "`record_key`, `cloudevents`, `payload_sha256`, `coordinates`, `{header: NAME}` or "
    "`{field: PATH}`";

const std::vector<std::string> plain_names = {"record_key", "cloudevents", "payload_sha256",
                                              "coordinates"};
// The kind that each name stands for.
constexpr KeySource::Kind plain_kinds[] = {
    KeySource::Kind::record_key, KeySource::Kind::cloudevents, KeySource::Kind::payload_sha256,
    KeySource::Kind::coordinates};

const std::vector<std::string> metadata_names = {"topic",     "partition",  "offset",
                                                 "timestamp", "record_key", "payload"};

// Whether the member of a mapping is known; else reports it.
bool expect_known(const Written& at, const Node::Key& key, const std::vector<std::string>& known) {
    if (std::ranges::find(known, key.name) != known.end()) return true;
    at.report.error(key.mark, at.path,
                    "`" + key.name + "` is not an option here" + guess(key.name, known) +
                        " Known are " + one_of(known) + ".");
    return false;
}

bool read_flag(const Written& at, bool& flag) {
    if (!at.scalar("`true` or `false`")) return false;
    flag = at.node.text == "true";
    if (!at.node.quoted && (flag || at.node.text == "false")) return true;
    at.refuse(" is neither. Write `true` or `false`.");
    return false;
}

std::optional<FieldSource> read_metadata(const Written& at) {
    const std::string& name = at.node.text;
    if (name == "record_key") return FieldSource{FieldSource::Kind::record_key, ""};
    if (name == "payload") return FieldSource{FieldSource::Kind::payload, ""};
    if (std::ranges::find(metadata_names, name) != metadata_names.end()) {
        return FieldSource{FieldSource::Kind::metadata, name};
    }
    return at.refuse(" is not metadata" + guess(at.node.written, metadata_names) + " Write " +
                     one_of(metadata_names) + ".");
}

// One member of a source's mapping; nullopt if it does not fit.
std::optional<FieldSource> read_kind(const std::string& kind, const Written& at) {
    if (!at.scalar("a text")) return std::nullopt;
    if (kind == "metadata") return read_metadata(at);
    if (kind == "header") return FieldSource{FieldSource::Kind::header, at.node.text};
    if (kind == "constant") return FieldSource{FieldSource::Kind::constant, at.node.text};
    return FieldSource{FieldSource::Kind::field, at.node.text};
}

// A source and, where it is allowed, `required`.
struct ReadSource {
    FieldSource source;
    bool required = false;
};

std::optional<ReadSource> read_any_source(const Written& at, bool with_required) {
    ReadSource result;
    if (at.node.kind == Node::Kind::scalar) {
        if (!at.scalar(source_help)) return std::nullopt;
        result.source.text = at.node.text;
        return result;
    }
    if (at.node.kind != Node::Kind::mapping) {
        return at.refuse(" is not a source. Write " + std::string(source_help) + ".");
    }
    std::vector<std::string> known = {"field", "header", "metadata", "constant"};
    if (with_required) known.emplace_back("required");
    bool good = true;
    int kinds = 0;
    for (std::size_t index = 0; index < at.node.items.size(); ++index) {
        const Node::Key& key = at.node.keys[index];
        const Written item = at.part(at.node.items[index]);
        if (!expect_known(at, key, known)) {
            good = false;
        } else if (key.name == "required") {
            good = read_flag(item, result.required) && good;
        } else {
            ++kinds;
            const auto source = read_kind(key.name, item);
            if (source) result.source = *source;
            good = good && source;
        }
    }
    if (!good) return std::nullopt;
    if (kinds == 1) return result;
    return at.error(std::string(kinds == 0 ? "The source is missing" : "There are two sources") +
                    ". Write exactly one of `field`, `header`, `metadata`, `constant`.");
}

std::optional<KeySource> read_named_key_source(const Written& at) {
    const std::vector<std::string> known = {"header", "field", "record_key", "strip_quotes",
                                            "kind"};
    KeySource source;
    int kinds = 0;
    bool good = true;
    for (std::size_t index = 0; index < at.node.items.size(); ++index) {
        const std::string& name = at.node.keys[index].name;
        const Written item = at.part(at.node.items[index]);
        if (!expect_known(at, at.node.keys[index], known)) {
            good = false;
        } else if (name == "strip_quotes") {
            good = read_flag(item, source.strip_quotes) && good;
        } else if (!item.scalar("a text")) {
            good = false;
        } else if (item.node.text.empty()) {
            item.error("`" + name + "` is empty. Write its name.");
            good = false;
        } else if (name == "kind") {
            source.kind_name = item.node.text;
        } else {
            ++kinds;
            source.kind = name == "header"  ? KeySource::Kind::header
                          : name == "field" ? KeySource::Kind::field
                                            : KeySource::Kind::record_key;
            if (source.kind != KeySource::Kind::record_key) source.name = item.node.text;
        }
    }
    if (!good) return std::nullopt;
    if (kinds == 1) return source;
    return at.error("A key source names one place. Write " + std::string(key_source_help) + ".");
}

std::optional<KeySource> read_key_source(const Written& at) {
    if (at.node.kind == Node::Kind::mapping) return read_named_key_source(at);
    if (!at.scalar(key_source_help)) return std::nullopt;
    const auto name = std::ranges::find(plain_names, at.node.text);
    if (name == plain_names.end()) {
        return at.refuse(" is not a key source" + guess(at.node.written, plain_names) + " Write " +
                         key_source_help + ".");
    }
    KeySource source;
    source.kind = plain_kinds[name - plain_names.begin()];
    return source;
}

// What `read` makes of each entry; nullopt if one of them does not fit.
template <class Read>
auto read_entries(const Written& at, Read read) {
    std::vector<typename std::invoke_result_t<Read, std::size_t>::value_type> entries;
    for (std::size_t index = 0; index < at.node.items.size(); ++index) {
        if (auto entry = read(index)) entries.push_back(std::move(*entry));
    }
    const bool good = entries.size() == at.node.items.size();
    if (!good) at.report.unknown(at.path);
    return good ? std::optional(std::move(entries)) : std::nullopt;
}

}  // namespace

std::optional<FieldSource> read_source(const Written& at) {
    const auto read = read_any_source(at, false);
    return read ? std::optional(read->source) : std::nullopt;
}

std::optional<std::vector<ColumnOptions>> read_columns(const Written& at) {
    if (at.node.kind != Node::Kind::mapping || at.node.items.empty()) {
        return at.refuse(
            " is not a mapping of columns. Write a mapping from each column to its source, such as "
            "`amount: /amount`.");
    }
    return read_entries(at, [&](std::size_t index) -> std::optional<ColumnOptions> {
        const Node::Key& key = at.node.keys[index];
        const auto read = read_any_source(at.entry(index), true);
        if (!read) return std::nullopt;
        return ColumnOptions{key.name, read->source, read->required, key.mark.line};
    });
}

std::optional<FingerprintOptions> read_fingerprint(const Written& at) {
    const std::string wanted = "`none`, `payload` or `{fields: [PATH, ...]}`";
    FingerprintOptions options;
    if (at.node.kind == Node::Kind::mapping) {
        const Node* const fields = at.node.items.size() == 1 ? at.node.find("fields") : nullptr;
        if (fields == nullptr) {
            return at.error("This is not a fingerprint. Write " + wanted + ".");
        }
        auto paths = read_texts(at.part(*fields));
        if (!paths) return std::nullopt;
        options.of = FingerprintOptions::Of::fields;
        options.fields = std::move(*paths);
        return options;
    }
    if (!at.scalar(wanted)) return std::nullopt;
    if (at.node.text == "payload") {
        options.of = FingerprintOptions::Of::payload;
    } else if (at.node.text != "none") {
        return at.refuse(" is not a fingerprint" +
                         guess(at.node.written, {"none", "payload", "fields"}) + " Write " +
                         wanted + ".");
    }
    return options;
}

std::optional<std::vector<KeySource>> read_key_sources(const Written& at) {
    if (at.node.kind != Node::Kind::sequence || at.node.items.empty()) {
        return at.refuse(" is not a list of key sources. Write a list of " +
                         std::string(key_source_help) + ".");
    }
    return read_entries(at, [&](std::size_t index) { return read_key_source(at.entry(index)); });
}

}  // namespace onceward
