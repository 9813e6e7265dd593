#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>

#include "cli/configuration/checks.h"
#include "cli/configuration/units.h"
#include "cli/configuration/values.h"

namespace onceward {

bool valid_topic_name(const std::string& name) {
    return name.size() <= 249 && std::all_of(name.begin(), name.end(), [](char letter) {
               return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' ||
                      letter == '_' || letter == '-';
           });
}

void check_field_path(const std::string& text, Format format, const std::string& path,
                      Report& report) {
    switch (format) {
        case Format::json:
            if (!text.empty() && text.front() != '/') {
                std::string pointer = "/" + text;
                std::replace(pointer.begin(), pointer.end(), '.', '/');
                report.error_at(path,
                                "A path into JSON is a JSON pointer. Write `" + pointer + "`.");
            }
            return;
        case Format::protobuf:
            if (text.empty() || text.front() == '/') {
                std::string dotted = text.empty() ? "order.id" : text.substr(1);
                std::replace(dotted.begin(), dotted.end(), '/', '.');
                report.error_at(path, "A path into Protobuf has dots. Write `" + dotted + "`.");
            }
            return;
        case Format::raw:
            if (text.empty()) return;
            report.error_at(path,
                            "`format: raw` has no fields. Write `{header: ...}`, `{metadata: "
                            "record_key}` or `{metadata: payload}`, or another format.");
            return;
    }
}

namespace {

void check_name(const TopicConfiguration& topic, const std::string& path, Report& report) {
    if (!valid_topic_name(topic.name)) {
        report.error_at(path + ".name",
                        "This is not a topic's name (letters, digits, `.`, `_`, `-`, 249 at most). "
                        "Patterns are not supported: name each topic.");
    }
}

void check_files(const FormatOptions& format, const std::string& path, Report& report) {
    const auto check = [&](const std::string& file, const char* option) {
        if (std::filesystem::is_regular_file(file)) return;
        report.error_at(
            path + ".protobuf." + option,
            "There is no file " + file + ". Paths start at this configuration's folder.");
    };
    if (!format.descriptor_set.empty()) check(format.descriptor_set, "descriptor_set");
    for (const std::string& file : format.proto_files) check(file, "proto_files");
}

void check_protobuf(const FormatOptions& format, const std::string& path, Report& report) {
    const std::string section = path + ".protobuf";
    if (format.format != Format::protobuf) {
        if (report.given(section)) {
            report.error_at(section,
                            "This has a meaning for `format: protobuf` only. Write `format: "
                            "protobuf`, or remove it.");
        }
        return;
    }
    const bool set = report.given(section + ".descriptor_set");
    const bool files = report.given(section + ".proto_files");
    if (!set && !files) {
        report.error_at(
            section + ".descriptor_set",
            "Protobuf needs its types. Write `protobuf:` with `descriptor_set: FILE` "
            "(protoc --include_imports --descriptor_set_out=FILE) or `proto_files: [...]`.");
    } else if (set && files) {
        report.error_at(section + ".proto_files",
                        "Give either `descriptor_set` or `proto_files`, not both.");
    }
    if (!report.given(section + ".message")) {
        report.error_at(section + ".message",
                        "The message's type is missing. Write `message: package.Name`.");
    }
    check_files(format, path, report);
}

void check_format(const TopicConfiguration& topic, const std::string& path, Report& report) {
    const FormatOptions& format = topic.format;
    if (!report.known(path + ".format")) return;
    check_protobuf(format, path, report);
    if (format.envelope != Envelope::none && format.format != Format::json) {
        report.error_at(path + ".envelope",
                        "Envelopes are unwrapped from JSON only. Write `format: json`, or "
                        "`envelope: none` and paths that start inside the envelope.");
    }
}

void check_key_pattern(const KeyOptions& key, const std::string& path, Report& report) {
    if (key.pattern.empty()) return;
    try {
        const std::regex compiled(key.pattern, std::regex::ECMAScript);
    } catch (const std::regex_error&) {
        report.error_at(
            path + ".pattern",
            "This is not an ECMAScript regular expression. Write one such as `[A-Z0-9-]+`.");
    }
}

void check_key(const TopicConfiguration& topic, const std::string& topic_path, Report& report) {
    const std::string path = topic_path + ".key";
    const bool preset = report.given(path + ".preset");
    const bool sources = report.given(path + ".sources");
    if (preset && sources) {
        report.error_at(path + ".sources", "Give either `preset` or `sources`, not both.");
    } else if (!preset && !sources) {
        report.error_at(path,
                        "The key is missing: without one no duplicate is found. Write `key:` with "
                        "`preset: idempotency-key` or `sources: [{header: NAME}]`.");
    }
    if (topic.key.length_min > topic.key.length_max) {
        report.error_at(path + ".length_min", "`length_min` is above `length_max`. Exchange them.");
    }
    check_key_pattern(topic.key, path, report);
    for (std::size_t index = 0; index < topic.key.sources.size(); ++index) {
        const KeySource& source = topic.key.sources[index];
        const std::string source_path = path + ".sources[" + std::to_string(index) + "]";
        if (source.kind == KeySource::Kind::field && sources &&
            report.known(topic_path + ".format")) {
            check_field_path(source.name, topic.format.format, source_path, report);
        }
        if (source.kind == KeySource::Kind::payload_sha256) {
            report.warning_at(
                sources ? source_path : path + ".preset",
                "With the payload's hash two equal orders are one. Let producers send a key, and "
                "write `preset: idempotency-key`.");
        }
    }
    if (topic.key.tenant && topic.key.tenant->kind == FieldSource::Kind::field) {
        check_field_path(topic.key.tenant->text, topic.format.format, path + ".tenant", report);
    }
}

void check_fingerprint(const TopicConfiguration& topic, const std::string& topic_path,
                       Report& report) {
    using Of = FingerprintOptions::Of;
    const std::string path = topic_path + ".key.fingerprint";
    const FingerprintOptions& fingerprint = topic.key.fingerprint;
    if (fingerprint.of == Of::none) {
        if (!report.given(topic_path + ".key.on_conflict") || !report.known(path)) return;
        report.error_at(topic_path + ".key.on_conflict",
                        "Without a fingerprint nothing is a conflict. Write `fingerprint: payload` "
                        "or `fingerprint: {fields: [...]}`, or remove this.");
        return;
    }
    const auto made_of_it = [&](const KeySource& source) {
        return source.kind == KeySource::Kind::coordinates ||
               (source.kind == KeySource::Kind::payload_sha256 && fingerprint.of == Of::payload);
    };
    if (!topic.key.sources.empty() && std::ranges::all_of(topic.key.sources, made_of_it)) {
        report.warning_at(path,
                          "No other payload can come with this key, so nothing is ever a conflict. "
                          "Remove this, or take the key from the message.");
    }
    if (fingerprint.of != Of::fields || !report.known(topic_path + ".format")) return;
    if (topic.format.format == Format::raw) {
        report.error_at(path,
                        "`format: raw` has no fields. Write `fingerprint: payload`, or another "
                        "format.");
        return;
    }
    for (const std::string& field : fingerprint.fields) {
        check_field_path(field, topic.format.format, path, report);
    }
}

void check_hot_key(const TopicConfiguration& topic, const LedgerOptions& ledger,
                   const std::string& topic_path, Report& report) {
    const std::string path = topic_path + ".hot_key";
    if (!report.given(path)) return;
    if (topic.reject.hot_key.most == 0 && report.given(path + ".within")) {
        report.error_at(path, "The limit is missing. Write `most: 1000`.");
    }
    if (topic.reject.hot_key.most > 0 && ledger.store == StoreKind::lease) {
        report.error_at(path,
                        "With `store: lease` further copies of a key make no call, and do not wait "
                        "once it is done. Remove this.");
    }
}

void check_columns(const TopicConfiguration& topic, const std::vector<ColumnOptions>& columns,
                   const std::string& path, Report& report) {
    if (!report.known(path + ".format")) return;
    for (const ColumnOptions& column : columns) {
        if (column.source.kind != FieldSource::Kind::field) continue;
        check_field_path(column.source.text, topic.format.format,
                         path + ".sink.columns." + column.name, report);
    }
}

}  // namespace

void check_ledger(const LedgerOptions& ledger, const std::string& topic_path, Report& report) {
    const std::string path = topic_path + ".ledger";
    switch (ledger.store) {
        case StoreKind::table:
            if (ledger.reach == Reach::global) break;
            report.error_at(path + ".reach",
                            "The `table` store always finds duplicates everywhere. Write `reach: "
                            "global`, or `store: log`.");
            break;
        case StoreKind::log: break;
        case StoreKind::lease: break;  // see check_lease()
    }
    if (ledger.rotate_after > ledger.retention) {
        report.error_at(
            report.given(path + ".rotate_after") ? path + ".rotate_after" : path + ".retention",
            "`rotate_after` (" + duration_text(ledger.rotate_after) +
                ") is longer than `retention` (" + duration_text(ledger.retention) +
                "): claims would be kept far beyond it. Write an eighth of the retention.");
        return;
    }
    const std::int64_t sealed = std::chrono::milliseconds(ledger.retention) / ledger.rotate_after;
    constexpr std::int64_t many = 64;
    if (sealed > many) {
        report.warning_at(
            report.given(path + ".rotate_after") ? path + ".rotate_after" : path + ".retention",
            "Each batch will search about " + std::to_string(sealed) +
                " sealed tables. Rotate less often.");
    }
}

void check_topic(const TopicConfiguration& topic, const LedgerOptions& ledger,
                 const std::string& path, Report& report) {
    check_name(topic, path, report);
    check_key(topic, path, report);
    check_fingerprint(topic, path, report);
    check_hot_key(topic, ledger, path, report);
    check_lease(topic, ledger, path, report);
    if (report.given(path + ".start_fallback") &&
        topic.start.kind != StartPosition::Kind::committed) {
        report.error_at(path + ".start_fallback",
                        "This has a meaning only with `start: committed`. Remove one of the two.");
    }
    if (topic.reject.action == RejectPolicy::Action::halt && report.given(path + ".reject_cap")) {
        report.error_at(
            path + ".reject_cap",
            "With `on_reject: halt` the first bad message halts already. Remove the cap, or "
            "write `on_reject: dead_letter`.");
    }
    check_answers(topic, ledger, path, report);
    if (const auto* webhook = std::get_if<WebhookOptions>(&topic.sink)) {
        check_webhook(topic, *webhook, ledger, path, report);
    }
    check_message(topic, ledger, path, report);
}

void check_message(const TopicConfiguration& message, const LedgerOptions& ledger,
                   const std::string& path, Report& report) {
    check_format(message, path, report);
    check_ledger(ledger, path, report);
    check_lease(message, ledger, path, report);
    check_outboxes(message, path, report);
    if (const auto* function = std::get_if<FunctionSinkOptions>(&message.sink)) {
        check_function_sink(message, *function, path, report);
        check_columns(message, function->columns, path, report);
    }
    if (const auto* table = std::get_if<TableSinkOptions>(&message.sink)) {
        check_table_sink(message, *table, path, report);
        check_columns(message, table->columns, path, report);
    }
}

}  // namespace onceward
