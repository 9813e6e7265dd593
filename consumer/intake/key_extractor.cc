#include "consumer/intake/key_extractor.h"

#include <algorithm>

#include "consumer/decode/decoder.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

using Status = KeyText::Status;

std::string describe(const KeySource& source) {
    switch (source.kind) {
        case KeySource::Kind::header: return "header `" + source.name + "`";
        case KeySource::Kind::record_key: return "the record's key";
        case KeySource::Kind::field: return "field `" + source.name + "`";
        case KeySource::Kind::fields: {
            std::string names;
            for (const std::string& name : source.names) {
                names += (names.empty() ? "`" : ", `") + name + "`";
            }
            return "fields " + names;
        }
        case KeySource::Kind::change: {
            KeySource fields = source;
            fields.kind = KeySource::Kind::fields;
            return describe(fields) + " with the record's key";
        }
        case KeySource::Kind::cloudevents: return "a CloudEvent's source and id";
        case KeySource::Kind::payload_sha256: return "the payload's hash";
        case KeySource::Kind::coordinates: return "the coordinates";
    }
    return "";
}

bool is_structured_cloudevent(const Record& record) {
    constexpr std::string_view expected = "application/cloudevents+json";
    const std::optional<std::string_view> type = last_header(record, "content-type");
    if (!type) return false;
    // Parameters may follow.
    return lower_case(std::string(type->substr(0, type->find_first_of("; ")))) == expected;
}

}  // namespace

std::size_t place_among(std::vector<std::string>& paths, const std::string& path) {
    const auto at = static_cast<std::size_t>(std::ranges::find(paths, path) - paths.begin());
    if (at == paths.size()) paths.push_back(path);
    return at;
}

void KeyExtractor::add(const KeySource& source, Format format) {
    if (source.only_json && format != Format::json) return;
    Source made{source, kind_of(source)};
    for (const std::string& name : source.names) {
        made.part_paths.push_back(place_among(paths_, name));
    }
    if (source.kind == KeySource::Kind::field) {
        made.path = place_among(paths_, source.name);
    } else if (source.kind == KeySource::Kind::cloudevents && format == Format::json) {
        made.path = place_among(paths_, "/source");
        made.id_path = place_among(paths_, "/id");
    }
    sources_.push_back(std::move(made));
    missing_ += (missing_.empty() ? "" : ", ") + describe(source);
}

KeyExtractor::KeyExtractor(KeyOptions options, const std::string& consumer_group, std::string topic,
                           Format format)
    : options_(std::move(options)),
      operation_(options_.operation.empty() ? consumer_group + "/" + topic : options_.operation),
      topic_(std::move(topic)) {
    for (const KeySource& source : options_.sources) add(source, format);
    missing_ = "the message has no key; looked for: " + missing_;
    if (options_.tenant) {
        check_source(*options_.tenant);
        if (options_.tenant->kind == FieldSource::Kind::key) {
            throw FormatError("the key's tenant cannot come from the key itself");
        }
        if (options_.tenant->kind == FieldSource::Kind::field) {
            tenant_path_ = place_among(paths_, options_.tenant->text);
        }
    }
    if (options_.minted_at.kind == MintedSource::Kind::field) {
        minted_path_ = place_among(paths_, options_.minted_at.name);
    } else if (options_.minted_at.kind == MintedSource::Kind::ce_time && format == Format::json) {
        minted_path_ = place_among(paths_, "/time");
    }
    if (options_.pattern.empty()) return;
    try {
        pattern_.emplace(options_.pattern, std::regex::ECMAScript | std::regex::optimize);
    } catch (const std::regex_error& error) {
        throw FormatError("the key's pattern `" + options_.pattern +
                          "` is not a regular expression: " + error.what());
    }
}

std::string KeyExtractor::coordinates(const Record& record) const {
    return coordinates_key(topic_id_.empty() ? topic_ : topic_id_, record.partition, record.offset);
}

KeyText KeyExtractor::cloudevent(const Source& source, const Record& record,
                                 std::span<const Value> values,
                                 std::pmr::memory_resource& arena) const {
    std::optional<std::string_view> origin = last_header(record, "ce_source");
    std::optional<std::string_view> id = last_header(record, "ce_id");
    if ((!origin || !id) && source.path != source.id_path && !values.empty() &&
        is_structured_cloudevent(record)) {
        const KeyText origin_field = key_text(values[source.path], arena);
        const KeyText id_field = key_text(values[source.id_path], arena);
        if (origin_field.status == Status::found && id_field.status == Status::found) {
            origin = origin_field.text;
            id = id_field.text;
        }
    }
    if (!origin || !id) {
        return {};
    }
    if (origin->empty() || id->empty()) {
        return {Status::invalid, {}, "the CloudEvent's source or id is empty"};
    }
    return {Status::found, keep(arena, cloudevents_key(*origin, *id)), nullptr};
}

// Invalid if one of the parts is invalid, else missing if one of them is missing.
KeyText KeyExtractor::composed(const Source& source, const Record& record,
                               std::span<const Value> values, std::pmr::memory_resource& arena) {
    const bool change = source.options.kind == KeySource::Kind::change;
    if (values.empty() || (change && !record.key)) return {};
    bool missing = false;
    std::vector<std::string_view> parts;
    for (const std::size_t path : source.part_paths) {
        const KeyText part = key_text(values[path], arena);
        if (part.status == Status::invalid) return part;
        missing = missing || part.status == Status::missing;
        parts.push_back(part.text);
        // DANGER: check each part here. The composed JSON writes these in another way, so the rules
        // for the whole key would not see them.
        if (part.status == Status::found && part.text.empty()) {
            return {Status::invalid, {}, "a part of it is empty"};
        }
        if (part.text.find('\0') != std::string_view::npos) {
            return {Status::invalid, {}, "it contains a NUL"};
        }
        if (!is_utf8(part.text)) return {Status::invalid, {}, "a part of it is not UTF-8"};
    }
    if (missing) return {};
    const std::string row = change ? hex(digest_of_bytes(*record.key)) : "";
    if (change) parts.emplace_back(row);
    return {Status::found, keep(arena, composed_key(parts)), nullptr};
}

KeyText KeyExtractor::read(const Source& source, const Record& record,
                           std::span<const Value> values, std::pmr::memory_resource& arena) const {
    switch (source.options.kind) {
        case KeySource::Kind::header: {
            const std::optional<std::string_view> header = last_header(record, source.options.name);
            if (!header) return {};
            if (source.options.strip_quotes) return strip_quotes(*header, arena);
            return {Status::found, *header, nullptr};
        }
        case KeySource::Kind::record_key:
            if (!record.key) return {};
            return {Status::found, *record.key, nullptr};
        case KeySource::Kind::field:
            return values.empty() ? KeyText{} : key_text(values[source.path], arena);
        case KeySource::Kind::fields:
        case KeySource::Kind::change: return composed(source, record, values, arena);
        case KeySource::Kind::cloudevents: return cloudevent(source, record, values, arena);
        case KeySource::Kind::payload_sha256:
            if (!record.payload) return {};
            return {Status::found, keep(arena, hex(digest_of_bytes(*record.payload))), nullptr};
        case KeySource::Kind::coordinates:
            return {Status::found, keep(arena, coordinates(record)), nullptr};
    }
    return {};
}

KeyText KeyExtractor::tenant_of(const Record& record, std::span<const Value> values,
                                std::pmr::memory_resource& arena) const {
    if (!options_.tenant) return {Status::found, {}, nullptr};
    const bool field = options_.tenant->kind == FieldSource::Kind::field;
    Value value;
    if (!field) {
        value = record_value(*options_.tenant, record, topic_, arena);
    } else if (!values.empty()) {
        value = values[tenant_path_];
    }
    KeyText text = key_text(value, arena);
    // DANGER: the digest uses '' for topics without tenants, so '' must never be the name of a
    // tenant.
    if (text.status == Status::found && text.text.empty()) {
        text.status = Status::missing;
    }
    return text;
}

std::optional<MintedAt> KeyExtractor::minted_at(const Message& message,
                                                std::span<const Value> values) const {
    std::optional<std::string_view> header;
    switch (options_.minted_at.kind) {
        case MintedSource::Kind::none: return std::nullopt;
        case MintedSource::Kind::uuid7: return minted_from_uuid7(message.key_text);
        case MintedSource::Kind::field:
            return values.empty() ? std::nullopt : minted_from(values[minted_path_]);
        case MintedSource::Kind::header:
            header = last_header(message.record, options_.minted_at.name);
            break;
        case MintedSource::Kind::ce_time:
            header = last_header(message.record, "ce_time");
            if (!header && !values.empty() && is_structured_cloudevent(message.record)) {
                return minted_from(values[minted_path_]);
            }
            break;
    }
    return header ? minted_from_text(*header) : std::nullopt;
}

const char* KeyExtractor::fault_of(std::string_view text) const {
    if (const char* fault = key_fault(text, options_)) return fault;
    if (!pattern_) return nullptr;
    // DANGER: std::regex takes stack for each byte; a megabyte of key would end the process.
    if (text.size() > pattern_length_max) {
        return "it is too long to be matched against the topic's pattern";
    }
    try {
        return std::regex_match(text.begin(), text.end(), *pattern_)
                   ? nullptr
                   : "it does not match the topic's pattern";
    } catch (const std::regex_error&) {
        return "it is too complex for the topic's pattern";
    }
}

void KeyExtractor::without_key(Message& message, KeyPolicy policy, Rejection::Kind kind,
                               std::string reason, std::pmr::memory_resource& arena) const {
    switch (policy) {
        case KeyPolicy::reject:
            message.rejection = Rejection{kind, std::move(reason), {}, 1};
            return;
        case KeyPolicy::skip:
            message.skipped = true;
            message.skip_reason =
                kind == Rejection::Kind::missing_key ? "missing key" : "invalid key";
            return;
        case KeyPolicy::derive:
            message.key_text = keep(arena, coordinates(message.record));
            message.digest = digest_of({operation_, {}, "coordinates", message.key_text});
            return;
    }
}

void KeyExtractor::extract(Message& message, std::span<const Value> values,
                           std::pmr::memory_resource& arena) const {
    const Source* source = nullptr;
    KeyText key;
    for (const Source& candidate : sources_) {
        key = read(candidate, message.record, values, arena);
        if (key.status != Status::missing) {
            source = &candidate;
            break;
        }
    }
    message.key_text = key.text;
    if (source == nullptr) {
        without_key(message, options_.on_missing, Rejection::Kind::missing_key, missing_, arena);
        return;
    }
    const char* fault = key.status == Status::invalid ? key.fault : fault_of(key.text);
    if (fault != nullptr) {
        without_key(message, options_.on_invalid, Rejection::Kind::invalid_key,
                    "the key from " + describe(source->options) + " is invalid: " + fault, arena);
        return;
    }
    message.key_text = key.text = canonical_key_text(key.text, options_, arena);
    const KeyText tenant = tenant_of(message.record, values, arena);
    if (tenant.status == Status::missing) {
        without_key(message, options_.on_missing, Rejection::Kind::missing_key,
                    "the message has a key but no tenant", arena);
        return;
    }
    if (tenant.status == Status::invalid) {
        without_key(message, options_.on_invalid, Rejection::Kind::invalid_key,
                    std::string("the key's tenant is invalid: ") + tenant.fault, arena);
        return;
    }
    message.minted_at = minted_at(message, values);
    if (!message.minted_at && options_.minted_at.kind != MintedSource::Kind::none) {
        without_key(message, options_.on_invalid, Rejection::Kind::invalid_key,
                    "the time at which the key was minted is missing or not readable; looked for "
                    "in " +
                        describe(options_.minted_at),
                    arena);
        return;
    }
    message.digest = digest_of({operation_, tenant.text, source->kind, key.text});
    message.tenant = tenant.text;
}

void KeyExtractor::note_key(Message& message, std::pmr::memory_resource& arena) const {
    if (!paths_.empty()) return;
    for (const Source& source : sources_) {
        const KeyText key = read(source, message.record, {}, arena);
        if (key.status == Status::missing) continue;
        message.key_text = key.text;
        return;
    }
}

}  // namespace onceward
