#include <algorithm>

#include "cli/configuration/values.h"
#include "cli/configuration/yaml_faults.h"

namespace onceward {
namespace {

constexpr const char* source_help =
    "a path in the payload, or one of `{field: ...}`, `{header: ...}`, `{metadata: ...}`, `{key: "
    "...}`, `{constant: ...}`";
constexpr const char* key_source_help =
    "`record_key`, `cloudevents`, `payload_sha256`, `coordinates`, `{header: NAME}`, `{field: "
    "PATH}` or `{fields: [PATH, PATH]}`";

const std::vector<std::string> plain_names = {"record_key", "cloudevents", "payload_sha256",
                                              "coordinates"};
// The kind that each name stands for.
constexpr KeySource::Kind plain_kinds[] = {
    KeySource::Kind::record_key, KeySource::Kind::cloudevents, KeySource::Kind::payload_sha256,
    KeySource::Kind::coordinates};

const std::vector<std::string> metadata_names = {"topic",     "partition",  "offset",
                                                 "timestamp", "record_key", "payload"};

const std::vector<std::string> key_parts = {"text", "digest", "downstream"};

// Whether all members of a mapping are known and `read` takes each; reports those that are not
// known.
template <class Read>
bool read_members(const Written& at, const std::vector<std::string>& known, Read read) {
    bool good = true;
    for (std::size_t index = 0; index < at.node.items.size(); ++index) {
        const auto& [name, mark] = at.node.keys[index];
        if (std::ranges::find(known, name) != known.end()) {
            good = read(name, at.part(at.node.items[index])) && good;
            continue;
        }
        at.report.error(mark, at.path,
                        "`" + leading_name(name) + "` is not an option here" + guess(name, known) +
                            " Known are " + one_of(known) + ".");
        good = false;
    }
    return good;
}

bool read_flag(const Written& at, bool& flag) {
    if (!at.scalar("`true` or `false`")) return false;
    flag = at.node.text == "true";
    const bool known = flag || at.node.text == "false";
    if (known && !at.node.quoted) return true;
    at.refuse(known ? " is in quotes, which makes it a text. Write it without them."
                    : " is neither `true` nor `false`. Write one of them.");
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

std::optional<FieldSource> read_key_part(const Written& at) {
    const std::string& name = at.node.text;
    if (std::ranges::find(key_parts, name) != key_parts.end()) {
        return FieldSource{FieldSource::Kind::key, name};
    }
    return at.refuse(" is not a part of the key" + guess(at.node.written, key_parts) + " Write " +
                     one_of(key_parts) + ".");
}

// One member of a source's mapping; nullopt if it does not fit.
std::optional<FieldSource> read_kind(const std::string& kind, const Written& at) {
    if (!at.scalar("a text")) return std::nullopt;
    if (kind == "metadata") return read_metadata(at);
    if (kind == "key") return read_key_part(at);
    if (kind == "header") return FieldSource{FieldSource::Kind::header, at.node.text};
    if (kind == "constant") return FieldSource{FieldSource::Kind::constant, at.node.text};
    return FieldSource{FieldSource::Kind::field, at.node.text};
}

// What a column's mapping may have besides its source.
const std::vector<std::string> column_options = {"required", "convert", "default", "lossy"};

// A source and, where it is allowed, what a column may add: a column without its name.
std::optional<ColumnOptions> read_any_source(const Written& at, bool of_column) {
    ColumnOptions result;
    if (at.node.kind == Node::Kind::scalar) {
        if (!at.scalar(source_help)) return std::nullopt;
        result.source.text = at.node.text;
        return result;
    }
    if (at.node.kind != Node::Kind::mapping) {
        return at.refuse(" is not a source. Write " + std::string(source_help) + ".");
    }
    std::vector<std::string> known = {"field", "header", "metadata", "key", "constant"};
    if (of_column) known.insert(known.end(), column_options.begin(), column_options.end());
    int kinds = 0;
    const auto read = [&](const std::string& name, const Written& item) {
        if (name == "required") return read_flag(item, result.required);
        if (std::ranges::find(column_options, name) != column_options.end()) {
            return read_conversion(name, item, result.conversion);
        }
        ++kinds;
        const auto source = read_kind(name, item);
        if (source) result.source = *source;
        return source.has_value();
    };
    if (!read_members(at, known, read)) return std::nullopt;
    if (result.required && result.conversion.fallback) {
        return at.error("With a `default` the value is never missing. Remove it, or `required`.");
    }
    if (kinds == 1) return result;
    return at.error(std::string(kinds == 0 ? "The source is missing" : "There are two sources") +
                    ". Write exactly one of `field`, `header`, `metadata`, `key`, `constant`.");
}

bool read_parts(const Written& at, KeySource& source) {
    auto paths = read_texts(at);
    if (!paths) return false;
    if (paths->size() < 2) {
        at.error("A key of one field is `{field: PATH}`. Write that, or several fields.");
        return false;
    }
    source.kind = KeySource::Kind::fields;
    source.names = std::move(*paths);
    return true;
}

std::optional<KeySource> read_named_key_source(const Written& at) {
    const std::vector<std::string> known = {"header",     "field",        "fields",
                                            "record_key", "strip_quotes", "kind"};
    KeySource source;
    int kinds = 0;
    const auto read = [&](const std::string& name, const Written& item) {
        if (name == "strip_quotes") return read_flag(item, source.strip_quotes);
        if (name == "fields") return ++kinds, read_parts(item, source);
        if (!item.scalar("a text")) return false;
        if (item.node.text.empty()) {
            item.error("`" + name + "` is empty. Write its name.");
            return false;
        }
        if (name == "kind") {
            source.kind_name = item.node.text;
            return true;
        }
        ++kinds;
        source.kind = name == "header"  ? KeySource::Kind::header
                      : name == "field" ? KeySource::Kind::field
                                        : KeySource::Kind::record_key;
        if (source.kind != KeySource::Kind::record_key) source.name = item.node.text;
        return true;
    };
    if (!read_members(at, known, read)) return std::nullopt;
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
    if (const auto colon = joined_colon(at.node.written)) {
        return at.error(joined_colon_advice(at.node.written, *colon));
    }
    if (at.node.kind != Node::Kind::mapping || at.node.items.empty()) {
        return at.refuse_kind(
            " is not a mapping of columns. Write a mapping from each column to its source, such as "
            "`amount: /amount`.");
    }
    return read_entries(at, [&](std::size_t index) {
        auto column = read_any_source(at.entry(index), true);
        if (!column) return column;
        column->name = at.node.keys[index].name;
        column->line = at.node.keys[index].mark.line;
        return column;
    });
}

std::optional<FingerprintOptions> read_fingerprint(const Written& at, const std::string& whole) {
    const std::string wanted = "`none`, `" + whole + "` or `{fields: [PATH, ...]}`";
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
    if (at.node.text == whole) {
        options.of = FingerprintOptions::Of::payload;
    } else if (at.node.text != "none") {
        return at.refuse(" is not a fingerprint" +
                         guess(at.node.written, {"none", whole, "fields"}) + " Write " + wanted +
                         ".");
    }
    return options;
}

std::optional<MintedSource> read_minted(const Written& at) {
    using Kind = MintedSource::Kind;
    const std::string wanted = "`uuid7`, `ce_time`, `{header: NAME}`, `{field: PATH}` or `none`";
    if (at.node.kind == Node::Kind::mapping) {
        constexpr std::array places{std::pair("header", Kind::header),
                                    std::pair("field", Kind::field)};
        for (const auto& [name, kind] : places) {
            const Node* const place = at.node.items.size() == 1 ? at.node.find(name) : nullptr;
            if (place == nullptr) continue;
            if (!at.part(*place).scalar("a text")) return std::nullopt;
            if (!place->text.empty()) return MintedSource{kind, place->text};
        }
        return at.error("This is no place of a key's time. Write " + wanted + ".");
    }
    if (!at.scalar(wanted)) return std::nullopt;
    if (at.node.text == "none") return MintedSource{};
    if (at.node.text == "uuid7") return MintedSource{Kind::uuid7};
    if (at.node.text == "ce_time") return MintedSource{Kind::ce_time};
    return at.refuse(" is no place of a key's time" +
                     guess(at.node.written, {"none", "uuid7", "ce_time", "header", "field"}) +
                     " Write " + wanted + ".");
}

std::optional<std::vector<KeySource>> read_key_sources(const Written& at) {
    if (at.node.kind != Node::Kind::sequence || at.node.items.empty()) {
        return at.refuse_kind(" is not a list of key sources. Write a list of " +
                              std::string(key_source_help) + ".");
    }
    return read_entries(at, [&](std::size_t index) { return read_key_source(at.entry(index)); });
}

}  // namespace onceward
