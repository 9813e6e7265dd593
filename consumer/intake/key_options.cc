#include "consumer/intake/key_options.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "consumer/intake/canonical_json.h"
#include "dedup/base/structured_field.h"
#include "dedup/base/text.h"
#include "dedup/message/message.h"

namespace onceward {
namespace {

using Kind = KeySource::Kind;

struct Preset {
    std::string name;
    std::vector<KeySource> sources;
};

const std::vector<Preset>& presets() {
    static const std::vector<Preset> all{
        // Two spellings of the name are in use, and Kafka's header names are case-sensitive; they
        // are one kind of key.
        {"idempotency-key",
         {{Kind::header, "Idempotency-Key", true, "header:Idempotency-Key", false},
          {Kind::header, "idempotency-key", true, "header:Idempotency-Key", false}}},
        {"cloudevents", {{.kind = Kind::cloudevents}}},
        {"debezium-outbox", {{.kind = Kind::header, .name = "id"}}},
        // Each change has a place in the write-ahead log. A connector that was restarted sends the
        // same place again. COPY and a multi-row INSERT write one place for many rows.
        {"debezium-postgres",
         {{.kind = Kind::change,
           .names = {"event:/source/lsn", "event:/source/txId", "event:/op"}}}},
        // MassTransit always writes the id into the envelope, and into a header if the transport
        // has headers.
        {"masstransit",
         {{Kind::header, "MessageId", false, "masstransit", false},
          {Kind::field, "/messageId", false, "masstransit", true}}},
        {"nservicebus", {{.kind = Kind::header, .name = "NServiceBus.MessageId"}}},
        {"kafka-coordinates", {{.kind = Kind::coordinates}}},
        {"body-sha256", {{.kind = Kind::payload_sha256}}},
    };
    return all;
}

KeyText found(std::string_view text) { return {KeyText::Status::found, text, nullptr}; }
KeyText invalid(const char* fault) { return {KeyText::Status::invalid, {}, fault}; }

template <class Number>
KeyText number_text(Number number, std::pmr::memory_resource& arena) {
    std::array<char, 32> digits{};
    const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    return found(
        keep(arena, {digits.data(), static_cast<std::size_t>(written.ptr - digits.data())}));
}

}  // namespace

std::optional<std::vector<KeySource>> key_preset(const std::string& name) {
    const auto found = std::ranges::find(presets(), name, &Preset::name);
    return found == presets().end() ? std::nullopt : std::optional(found->sources);
}

std::vector<std::string> key_preset_names() {
    std::vector<std::string> names;
    for (const Preset& preset : presets()) names.push_back(preset.name);
    return names;
}

std::string kind_of(const KeySource& source) {
    if (!source.kind_name.empty()) return source.kind_name;
    switch (source.kind) {
        case KeySource::Kind::header: return "header:" + source.name;
        case KeySource::Kind::record_key: return "record_key";
        case KeySource::Kind::field: return "field:" + source.name;
        case KeySource::Kind::fields:
        case KeySource::Kind::change: {
            const std::vector<std::string_view> paths(source.names.begin(), source.names.end());
            return (source.kind == KeySource::Kind::fields ? "fields:" : "change:") +
                   composed_key(paths);
        }
        case KeySource::Kind::cloudevents: return "cloudevents";
        case KeySource::Kind::payload_sha256: return "payload_sha256";
        case KeySource::Kind::coordinates: return "coordinates";
    }
    return "";
}

// The source's length comes first: `a|b` with `c` and `a` with `b|c` must be two keys, no matter
// what joins them.
std::string cloudevents_key(std::string_view source, std::string_view id) {
    return std::to_string(source.size()) + ":" + std::string(source) + " " + std::string(id);
}

std::string coordinates_key(std::string_view log, Partition partition, Offset offset) {
    return std::string(log) + "-" + std::to_string(partition.raw()) + "-" +
           std::to_string(offset.raw());
}

std::string composed_key(std::span<const std::string_view> parts) {
    std::string text = "[";
    for (const std::string_view part : parts) {
        if (text.size() > 1) text += ',';
        append_canonical_string(part, text);
    }
    return text + "]";
}

KeyText key_text(const Value& value, std::pmr::memory_resource& arena) {
    switch (value.kind) {
        case Value::Kind::absent:
        case Value::Kind::null: return {};
        case Value::Kind::number:
        case Value::Kind::text:
        case Value::Kind::bytes: return found(value.text);
        case Value::Kind::integer: return number_text(value.integer, arena);
        case Value::Kind::natural: return number_text(value.natural, arena);
        case Value::Kind::real: return number_text(value.real, arena);
        case Value::Kind::boolean: return invalid("it is a boolean, which cannot be a key");
        case Value::Kind::json: return invalid("it is an object or a list, which cannot be a key");
        case Value::Kind::timestamp: return invalid("it is a time, which cannot be a key");
    }
    return {};
}

KeyText strip_quotes(std::string_view header, std::pmr::memory_resource& arena) {
    if (!header.starts_with('"')) return found(header);
    const std::optional<std::string> text = structured_string(header);
    if (!text) return invalid("it begins with a quote and is not a string of RFC 8941");
    return found(keep(arena, *text));
}

std::string_view canonical_key_text(std::string_view text, const KeyOptions& options,
                                    std::pmr::memory_resource& arena) {
    const auto capital = [](char c) { return c >= 'A' && c <= 'Z'; };
    if (options.charset != KeyOptions::Charset::uuid || std::ranges::none_of(text, capital)) {
        return text;
    }
    return keep(arena, lower_case(std::string(text)));
}

const char* key_fault(std::string_view text, const KeyOptions& options) {
    if (text.size() < options.length_min) {
        return text.empty() ? "it is empty" : "it is shorter than the topic allows";
    }
    if (text.size() > options.length_max) {
        return "it is longer than the topic allows";
    }
    // DANGER: many programs that show keys cut text at a NUL; two keys would look like one.
    if (text.find('\0') != std::string_view::npos) {
        return "it contains a NUL";
    }
    switch (options.charset) {
        case KeyOptions::Charset::any: return nullptr;
        case KeyOptions::Charset::ascii_printable:
            return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; })
                       ? nullptr
                       : "it has a character that is not printable ASCII";
        case KeyOptions::Charset::uuid: return is_uuid(text) ? nullptr : "it is no UUID";
    }
    return nullptr;
}

}  // namespace onceward
