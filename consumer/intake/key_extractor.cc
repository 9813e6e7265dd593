#include "consumer/intake/key_extractor.h"

#include <algorithm>
#include <regex>

#include "consumer/decode/decoder.h"
#include "consumer/decode/record_value.h"
#include "consumer/intake/key_text.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

using Status = KeyText::Status;

// A source with what is computed once.
struct Source {
    KeySource options;
    std::string kind;
    std::size_t path = 0;     // field: which of paths(); cloudevents: its `source`
    std::size_t id_path = 0;  // cloudevents: its `id`
};

std::string describe(const KeySource& source) {
    switch (source.kind) {
        case KeySource::Kind::header: return "header `" + source.name + "`";
        case KeySource::Kind::record_key: return "the record's key";
        case KeySource::Kind::field: return "field `" + source.name + "`";
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

struct KeyExtractor::State {
    KeyOptions options;
    std::string operation;
    std::string topic;
    std::string topic_id;
    std::vector<Source> sources;
    std::vector<std::string> paths;
    std::size_t tenant_path = 0;
    std::optional<std::regex> pattern;
    std::string missing;  // the reason, for the dead letters

    std::size_t want(const std::string& path);
    void add(const KeySource& source, Format format);
    KeyText read(const Source& source, const Record& record, std::span<const Value> values,
                 std::pmr::memory_resource& arena) const;
    KeyText cloudevent(const Source& source, const Record& record, std::span<const Value> values,
                       std::pmr::memory_resource& arena) const;
    KeyText tenant(const Record& record, std::span<const Value> values,
                   std::pmr::memory_resource& arena) const;
    std::string coordinates(const Record& record) const;
    const char* fault(std::string_view text) const;
    void without_key(Message& message, KeyPolicy policy, Rejection::Kind kind, std::string reason,
                     std::pmr::memory_resource& arena) const;
};

std::size_t KeyExtractor::State::want(const std::string& path) {
    const auto at = static_cast<std::size_t>(std::ranges::find(paths, path) - paths.begin());
    if (at == paths.size()) paths.push_back(path);
    return at;
}

void KeyExtractor::State::add(const KeySource& source, Format format) {
    if (source.only_json && format != Format::json) {
        return;
    }
    Source made{source, kind_of(source)};
    if (source.kind == KeySource::Kind::field) {
        made.path = want(source.name);
    } else if (source.kind == KeySource::Kind::cloudevents && format == Format::json) {
        made.path = want("/source");
        made.id_path = want("/id");
    }
    sources.push_back(std::move(made));
    missing += (missing.empty() ? "" : ", ") + describe(source);
}

KeyExtractor::KeyExtractor(KeyOptions options, const std::string& consumer_group, std::string topic,
                           Format format)
    : state_(std::make_unique<State>()) {
    State& state = *state_;
    state.options = std::move(options);
    state.topic = std::move(topic);
    state.operation = state.options.operation.empty() ? consumer_group + "/" + state.topic
                                                      : state.options.operation;
    for (const KeySource& source : state.options.sources) {
        state.add(source, format);
    }
    state.missing = "the message has no key; looked for: " + state.missing;
    if (state.options.tenant) {
        check_source(*state.options.tenant);
        if (state.options.tenant->kind == FieldSource::Kind::field) {
            state.tenant_path = state.want(state.options.tenant->text);
        }
    }
    if (!state.options.pattern.empty()) {
        try {
            state.pattern.emplace(state.options.pattern,
                                  std::regex::ECMAScript | std::regex::optimize);
        } catch (const std::regex_error& error) {
            throw FormatError("the key's pattern `" + state.options.pattern +
                              "` is not a regular expression: " + error.what());
        }
    }
}

KeyExtractor::~KeyExtractor() = default;

void KeyExtractor::set_topic_id(std::string topic_id) { state_->topic_id = std::move(topic_id); }

const std::vector<std::string>& KeyExtractor::paths() const { return state_->paths; }

std::string KeyExtractor::State::coordinates(const Record& record) const {
    return coordinates_key(topic_id.empty() ? topic : topic_id, record.partition, record.offset);
}

KeyText KeyExtractor::State::cloudevent(const Source& source, const Record& record,
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

KeyText KeyExtractor::State::read(const Source& source, const Record& record,
                                  std::span<const Value> values,
                                  std::pmr::memory_resource& arena) const {
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
        case KeySource::Kind::cloudevents: return cloudevent(source, record, values, arena);
        case KeySource::Kind::payload_sha256:
            if (!record.payload) return {};
            return {Status::found, keep(arena, hex(digest_of_bytes(*record.payload))), nullptr};
        case KeySource::Kind::coordinates:
            return {Status::found, keep(arena, coordinates(record)), nullptr};
    }
    return {};
}

KeyText KeyExtractor::State::tenant(const Record& record, std::span<const Value> values,
                                    std::pmr::memory_resource& arena) const {
    if (!options.tenant) {
        return {Status::found, {}, nullptr};
    }
    const bool field = options.tenant->kind == FieldSource::Kind::field;
    Value value;
    if (!field) {
        value = record_value(*options.tenant, record, topic, arena);
    } else if (!values.empty()) {
        value = values[tenant_path];
    }
    KeyText text = key_text(value, arena);
    // DANGER: the digest uses '' for topics without tenants, so '' must never be the name of a
    // tenant.
    if (text.status == Status::found && text.text.empty()) {
        text.status = Status::missing;
    }
    return text;
}

const char* KeyExtractor::State::fault(std::string_view text) const {
    if (const char* fault = key_fault(text, options)) {
        return fault;
    }
    if (!pattern) {
        return nullptr;
    }
    // DANGER: std::regex takes stack for each byte; a megabyte of key would end the process.
    if (text.size() > pattern_length_max) {
        return "it is too long to be matched against the topic's pattern";
    }
    try {
        return std::regex_match(text.begin(), text.end(), *pattern)
                   ? nullptr
                   : "it does not match the topic's pattern";
    } catch (const std::regex_error&) {
        return "it is too complex for the topic's pattern";
    }
}

void KeyExtractor::State::without_key(Message& message, KeyPolicy policy, Rejection::Kind kind,
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
            message.digest = digest_of({operation, {}, "coordinates", message.key_text});
            return;
    }
}

void KeyExtractor::extract(Message& message, std::span<const Value> values,
                           std::pmr::memory_resource& arena) const {
    const State& state = *state_;
    const Source* source = nullptr;
    KeyText key;
    for (const Source& candidate : state.sources) {
        key = state.read(candidate, message.record, values, arena);
        if (key.status != Status::missing) {
            source = &candidate;
            break;
        }
    }
    message.key_text = key.text;
    if (source == nullptr) {
        state.without_key(message, state.options.on_missing, Rejection::Kind::missing_key,
                          state.missing, arena);
        return;
    }
    const char* fault = key.status == Status::invalid ? key.fault : state.fault(key.text);
    if (fault != nullptr) {
        state.without_key(message, state.options.on_invalid, Rejection::Kind::invalid_key,
                          "the key from " + describe(source->options) + " is invalid: " + fault,
                          arena);
        return;
    }
    message.key_text = key.text = canonical_key_text(key.text, state.options, arena);
    const KeyText tenant = state.tenant(message.record, values, arena);
    if (tenant.status == Status::missing) {
        state.without_key(message, state.options.on_missing, Rejection::Kind::missing_key,
                          "the message has a key but no tenant", arena);
        return;
    }
    if (tenant.status == Status::invalid) {
        state.without_key(message, state.options.on_invalid, Rejection::Kind::invalid_key,
                          std::string("the key's tenant is invalid: ") + tenant.fault, arena);
        return;
    }
    message.digest = digest_of({state.operation, tenant.text, source->kind, key.text});
    message.tenant = tenant.text;
}

void KeyExtractor::note_key(Message& message, std::pmr::memory_resource& arena) const {
    if (!state_->paths.empty()) {
        return;
    }
    for (const Source& source : state_->sources) {
        const KeyText key = state_->read(source, message.record, {}, arena);
        if (key.status != Status::missing) {
            message.key_text = key.text;
            return;
        }
    }
}

}  // namespace onceward
