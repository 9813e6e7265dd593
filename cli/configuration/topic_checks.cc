#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>

#include "cli/configuration/checks.h"
#include "cli/configuration/units.h"

namespace onceward {
namespace {

// `order.id`, or JSONPath's `$.order[0]['id']`, as a JSON pointer.
std::string pointer_like(const std::string& text) {
    const bool json_path = text.starts_with('$');
    std::string pointer;
    for (const char c : std::string_view(text).substr(json_path ? 1 : 0)) {
        const bool begins_part = c == '.' || (json_path && c == '[');
        const bool is_mark = json_path && (c == ']' || c == '\'' || c == '"');
        if (!is_mark) pointer += begins_part ? '/' : c;
    }
    return pointer.starts_with('/') ? pointer : "/" + pointer;
}

}  // namespace

bool has_only(std::string_view text, std::string_view marks) {
    return std::ranges::all_of(text, [&](unsigned char letter) {
        return std::isalnum(letter) != 0 || marks.find(static_cast<char>(letter)) != marks.npos;
    });
}

bool check_topic_name(const std::string& name, const std::string& option, const Section& at,
                      const std::string& advice) {
    if (name.size() <= 249 && has_only(name, "._-")) return true;
    at.error(option,
             "This is not a topic's name (letters, digits, `.`, `_`, `-`, 249 at most)." + advice);
    return false;
}

void check_file(const std::string& file, const std::string& option, const Section& at) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored)) return;
    at.error(option, "There is no file " + file + ". Paths start at this configuration's folder.");
}

void check_field_path(const FieldSource& source, const FormatOptions& options,
                      const std::string& option, const Section& at) {
    const std::string& text = source.text;
    const Format format = options.format;
    if (source.kind != FieldSource::Kind::field || !at.known("format")) return;
    if (text.starts_with(event_prefix)) {
        const std::string_view rest = std::string_view(text).substr(event_prefix.size());
        if (options.envelope == Envelope::debezium && rest.starts_with('/')) return;
        at.error(option, options.envelope == Envelope::debezium
                             ? "This is not a path of a change event. Write one such as "
                               "`event:/source/lsn`."
                             : "Only a change event has paths that begin with `event:`. Write "
                               "`envelope: debezium`, or a path in the payload.");
        return;
    }
    const bool pointers = format == Format::json || format == Format::avro;
    if (pointers && !text.empty() && text.front() != '/') {
        at.error(option, std::string("A path into ") + (format == Format::json ? "JSON" : "Avro") +
                             " is a JSON pointer. Write `" + pointer_like(text) + "`.");
    } else if (format == Format::protobuf && (text.empty() || text.front() == '/')) {
        std::string dotted = text.empty() ? "order.id" : text.substr(1);
        std::ranges::replace(dotted, '/', '.');
        at.error(option, "A path into Protobuf has dots. Write `" + dotted + "`.");
    } else if (format == Format::raw && !text.empty()) {
        at.error(option,
                 "`format: raw` has no fields. Write `{header: ...}`, `{metadata: record_key}` or "
                 "`{metadata: payload}`, or another format.");
    }
}

void check_field_paths(const std::vector<ColumnOptions>& columns, const FormatOptions& format,
                       const std::string& option, const Section& at) {
    for (const ColumnOptions& column : columns) {
        check_field_path(column.source, format, option + "." + column.name, at);
    }
}

void check_fingerprint_fields(const TopicConfiguration& message, const std::string& option,
                              const std::string& whole, const Section& at) {
    const std::vector<std::string>& fields = message.key.fingerprint.fields;
    if (fields.empty() || !at.known("format")) return;
    if (message.format.format == Format::raw) {
        at.error(option, "`format: raw` has no fields. Write `fingerprint: " + whole +
                             "`, or another format.");
        return;
    }
    for (const std::string& field : fields) {
        check_field_path({FieldSource::Kind::field, field}, message.format, option, at);
    }
}

namespace {

FieldSource field_of(const std::string& path) { return {FieldSource::Kind::field, path}; }

void check_protobuf(const TopicConfiguration& message, const Section& at) {
    const FormatOptions& format = message.format;
    if (format.format != Format::protobuf) {
        if (!at.given()) return;
        at.error("",
                 "This has a meaning for `format: protobuf` only. Write `format: protobuf`, or "
                 "remove it.");
        return;
    }
    if (!message.registry.empty()) return;
    const bool set = at.given("descriptor_set");
    const bool files = at.given("proto_files");
    at.check({
        {!set && !files, "descriptor_set",
         "Protobuf needs its types. Write `protobuf:` with `descriptor_set: FILE` (protoc "
         "--include_imports --descriptor_set_out=FILE) or `proto_files: [...]`, or name the "
         "topic's "
         "`registry`."},
        {set && files, "proto_files", "Give either `descriptor_set` or `proto_files`, not both."},
        {!at.given("message"), "message",
         "The message's type is missing. Write `message: package.Name`."},
    });
    if (!format.descriptor_set.empty()) check_file(format.descriptor_set, "descriptor_set", at);
    for (const std::string& file : format.proto_files) check_file(file, "proto_files", at);
}

void check_format(const TopicConfiguration& message, const Section& at) {
    const FormatOptions& format = message.format;
    if (!at.known("format")) return;
    check_protobuf(message, at.at("protobuf"));
    const bool avro_event = format.format == Format::avro && format.envelope == Envelope::debezium;
    if (format.envelope != Envelope::none && format.format != Format::json && !avro_event) {
        at.error("envelope",
                 "Envelopes are unwrapped from JSON only, `debezium` from Avro too. Write `format: "
                 "json`, or `envelope: none` "
                 "and paths that start inside the envelope.");
    }
}

void check_key_pattern(const KeyOptions& key, const Section& at) {
    if (key.pattern.empty()) return;
    try {
        const std::regex compiled(key.pattern, std::regex::ECMAScript);
    } catch (const std::regex_error&) {
        at.error("key.pattern",
                 "This is not an ECMAScript regular expression. Write one such as `[A-Z0-9-]+`.");
    }
}

// `option` is the source's place; with a preset the preset's is named instead.
void check_key_source(const TopicConfiguration& topic, const KeySource& source,
                      const std::string& option, bool preset, const Section& at) {
    if (source.kind == KeySource::Kind::field && !preset) {
        check_field_path(field_of(source.name), topic.format, option, at);
    }
    const bool composed =
        source.kind == KeySource::Kind::fields || source.kind == KeySource::Kind::change;
    if (source.kind == KeySource::Kind::change && topic.format.envelope != Envelope::debezium) {
        at.error("key.preset",
                 "This key is in a change event of Debezium's. Write `envelope: debezium`, or "
                 "another preset.");
        return;
    }
    for (const std::string& name : source.names) {
        check_field_path(field_of(name), topic.format, option, at);
    }
    if (composed && topic.key.charset == KeyOptions::Charset::uuid) {
        at.error("key.charset",
                 "A key of several fields is a JSON array and never a UUID. Remove this, or name "
                 "one field.");
    }
    if (source.kind == KeySource::Kind::payload_sha256) {
        at.warning(preset ? "key.preset" : option,
                   "With the payload's hash two equal orders are one. Let producers send a "
                   "key, and write `preset: idempotency-key`.");
    }
}

void check_key(const TopicConfiguration& topic, const Section& at) {
    const bool preset = at.given("key.preset");
    const bool sources = at.given("key.sources");
    at.check({
        {preset && sources, "key.sources", "Give either `preset` or `sources`, not both."},
        {!preset && !sources, "key",
         "The key is missing: without one no duplicate is found. Write `key:` with `preset: "
         "idempotency-key` or `sources: [{header: NAME}]`."},
        {topic.key.length_min > topic.key.length_max, "key.length_min",
         "`length_min` is above `length_max`. Exchange them."},
    });
    check_key_pattern(topic.key, at);
    for (std::size_t index = 0; index < topic.key.sources.size(); ++index) {
        const std::string option = "key.sources[" + std::to_string(index) + "]";
        check_key_source(topic, topic.key.sources[index], option, !sources, at);
    }
    if (topic.key.tenant) {
        if (topic.key.tenant->kind == FieldSource::Kind::key) {
            at.error("key.tenant",
                     "The tenant is a part of the key and cannot come from it. Name a field or a "
                     "header.");
        }
        check_field_path(*topic.key.tenant, topic.format, "key.tenant", at);
    }
}

// A key whose time is not known cannot be refused when it is too old.
void check_minted(const TopicConfiguration& topic, const LedgerOptions& ledger, const Section& at) {
    using Kind = MintedSource::Kind;
    const KeyOptions& key = topic.key;
    if (key.minted_at.kind == Kind::none) return;
    const bool derives = key.on_missing == KeyPolicy::derive || key.on_invalid == KeyPolicy::derive;
    const auto no_uuid = [](const KeySource& source) {
        return source.kind != KeySource::Kind::header && source.kind != KeySource::Kind::field &&
               source.kind != KeySource::Kind::record_key;
    };
    at.check({
        {only_log(ledger), "key.minted_at",
         "A `log` does not know since when it remembers keys. Write `store: table`."},
        {ledger.any_store, "key.minted_at",
         "With `store: auto` the ledger may be a `log`, which does not know since when it "
         "remembers keys. Write `store: table`."},
        {derives, "key.minted_at",
         "A derived key has no time, so it would be applied again after the retention. Write "
         "`reject` or `skip` for `on_missing` and `on_invalid`."},
        {key.minted_at.kind == Kind::uuid7 && std::ranges::any_of(key.sources, no_uuid),
         "key.minted_at",
         "One of the key's sources gives no UUID. Name the header or the field that has the time."},
    });
    if (key.minted_at.kind == Kind::field) {
        check_field_path(field_of(key.minted_at.name), topic.format, "key.minted_at", at);
    }
}

void check_fingerprint(const TopicConfiguration& topic, const Section& at) {
    using Of = FingerprintOptions::Of;
    const std::string option = "key.fingerprint";
    const FingerprintOptions& fingerprint = topic.key.fingerprint;
    if (fingerprint.of == Of::none) {
        if (!at.given("key.on_conflict") || !at.known(option)) return;
        at.error("key.on_conflict",
                 "Without a fingerprint nothing is a conflict. Write `fingerprint: payload` or "
                 "`fingerprint: {fields: [...]}`, or remove this.");
        return;
    }
    const auto made_of_it = [&](const KeySource& source) {
        return source.kind == KeySource::Kind::coordinates ||
               (source.kind == KeySource::Kind::payload_sha256 && fingerprint.of == Of::payload);
    };
    if (!topic.key.sources.empty() && std::ranges::all_of(topic.key.sources, made_of_it)) {
        at.warning(option,
                   "No other payload can come with this key, so nothing is ever a conflict. Remove "
                   "this, or take the key from the message.");
    }
    check_fingerprint_fields(topic, option, "payload", at);
}

void check_hot_key(const HotKeyPolicy& hot_key, const LedgerOptions& ledger, const Section& at) {
    if (!at.given("hot_key")) return;
    at.check({
        {hot_key.most == 0 && at.given("hot_key.within"), "hot_key",
         "The limit is missing. Write `most: 1000`."},
        {hot_key.most > 0 && ledger.store == StoreKind::lease, "hot_key",
         "With `store: lease` further copies of a key make no call, and do not wait once it is "
         "done. Remove this."},
    });
}

}  // namespace

void check_ledger(const LedgerOptions& ledger, const Section& at) {
    const bool partition = ledger.reach == Reach::partition;
    at.check({
        {partition && ledger.store == StoreKind::table, "ledger.reach",
         "The `table` store always finds duplicates everywhere. Write `reach: global`, or "
         "`store: log`."},
        {partition && ledger.any_store, "ledger.reach",
         "Without `store: log` the ledger may be a `table`, which always finds duplicates "
         "everywhere. Write `store: log`, or `reach: global`."},
    });
    if (merges(ledger) && ledger.stores_results && at.given("ledger.store") &&
        !at.given("ledger.rotate_claims")) {
        at.warning("ledger.store",
                   "With stored results the sealed tables of a `log` do not become one, and each "
                   "batch searches all of them: one for each " +
                       std::to_string(rotation_claims(ledger)) +
                       " claims. Write `store: table`, or `rotate_claims`: more of them take 22 to "
                       "43 bytes a claim in each process.");
    }
    const std::string rotation = at.given_of("ledger.rotate_after", "ledger.retention");
    if (ledger.rotate_after > ledger.retention && !at.given("ledger.rotate_after")) {
        const auto eighth = std::chrono::milliseconds(ledger.retention) / 8;
        at.error(rotation, "`retention` (" + duration_text(ledger.retention) +
                               ") is shorter than the default of `rotate_after` (" +
                               duration_text(ledger.rotate_after) + "). Write `rotate_after: " +
                               duration_text(eighth) + "` too.");
        return;
    }
    if (ledger.rotate_after > ledger.retention) {
        at.error(rotation, "`rotate_after` (" + duration_text(ledger.rotate_after) +
                               ") is longer than `retention` (" + duration_text(ledger.retention) +
                               "): claims would be kept far beyond it. Write an eighth of the "
                               "retention.");
        return;
    }
    const std::int64_t sealed = std::chrono::milliseconds(ledger.retention) / ledger.rotate_after;
    constexpr std::int64_t many = 64;
    if (sealed > many) {
        at.warning(rotation, "Each batch will search about " + std::to_string(sealed) +
                                 " sealed tables. Rotate less often.");
    }
}

void check_topic(const TopicConfiguration& topic, const LedgerOptions& ledger, const Section& at) {
    check_topic_name(topic.name, "name", at, " Patterns are not supported: name each topic.");
    check_key(topic, at);
    check_fingerprint(topic, at);
    check_minted(topic, ledger, at);
    check_hot_key(topic.reject.hot_key, ledger, at);
    check_lease(topic, ledger, at);
    at.check({
        {at.given("start_fallback") && topic.start.kind != StartPosition::Kind::committed,
         "start_fallback",
         "This has a meaning only with `start: committed`. Remove one of the two."},
        {topic.reject.action == RejectPolicy::Action::halt && at.given("reject_cap"), "reject_cap",
         "With `on_reject: halt` the first bad message halts already. Remove the cap, or write "
         "`on_reject: dead_letter`."},
    });
    check_answers(topic, ledger, at);
    if (const auto* webhook = std::get_if<WebhookOptions>(&topic.sink)) {
        check_webhook(topic, *webhook, ledger, at);
    }
    check_message(topic, ledger, at);
}

void check_message_of_route(const TopicConfiguration& message, const LedgerOptions& ledger,
                            const Section& at) {
    at.check({{ledger.any_store, "ledger.store",
               "A ledger in which requests claim is not converted. Write the store that it has: "
               "`table`, or `log`."}});
    check_message(message, ledger, at);
}

void check_message(const TopicConfiguration& message, const LedgerOptions& ledger,
                   const Section& at) {
    check_format(message, at);
    check_ledger(ledger, at);
    check_lease(message, ledger, at);
    check_outboxes(message, at);
    if (const auto* function = std::get_if<FunctionSinkOptions>(&message.sink)) {
        check_function_sink(message, *function, at);
    }
    if (const auto* table = std::get_if<TableSinkOptions>(&message.sink)) {
        check_table_sink(message, *table, at);
    }
    check_field_paths(columns_of(message), message.format, "sink.columns", at);
}

}  // namespace onceward
