#include <algorithm>

#include "cli/configuration/checks.h"
#include "cli/configuration/values.h"

namespace onceward {
namespace {

const ColumnOptions* find_column(const TableSinkOptions& sink, const std::string& name) {
    for (const ColumnOptions& column : sink.columns) {
        if (column.name == name) return &column;
    }
    return nullptr;
}

void expect_column(const TableSinkOptions& sink, const std::string& name, const std::string& path,
                   const std::string& columns_path, Report& report) {
    if (!report.known(columns_path) || find_column(sink, name) != nullptr) return;
    std::vector<std::string> names;
    for (const ColumnOptions& column : sink.columns) names.push_back(column.name);
    report.error_at(path, "`" + name + "` is not one of this sink's columns" + guess(name, names) +
                              " Name one of `columns`, or add it there.");
}

void check_upsert(const TableSinkOptions& sink, const std::string& path, Report& report) {
    const bool upsert = sink.mode == TableSinkOptions::Mode::upsert;
    if (upsert && sink.conflict_target.empty()) {
        report.error_at(path + ".conflict_target",
                        "`mode: upsert` has to know which row to change. Write `conflict_target: "
                        "[COLUMN]`, the columns of a unique index.");
    }
    if (!upsert && report.given(path + ".conflict_target")) {
        report.error_at(path + ".conflict_target",
                        "An insert has no conflict target. Write `mode: upsert`, or remove it.");
    }
    if (!upsert && report.given(path + ".only_if_newer")) {
        report.error_at(path + ".only_if_newer",
                        "An insert changes no row. Write `mode: upsert`, or remove it.");
    }
    if (upsert && report.given(path + ".transport")) {
        report.error_at(path + ".transport",
                        "An upsert always travels in arrays. Remove this, or write "
                        "`mode: insert`.");
    }
    for (const std::string& name : sink.conflict_target) {
        expect_column(sink, name, path + ".conflict_target", path + ".columns", report);
    }
    if (!sink.only_if_newer.empty()) {
        expect_column(sink, sink.only_if_newer, path + ".only_if_newer", path + ".columns", report);
    }
}

void check_deletes(const TopicConfiguration& topic, const TableSinkOptions& sink,
                   const std::string& path, Report& report) {
    if (topic.format.tombstones != TombstonePolicy::remove) {
        if (topic.format.envelope == Envelope::debezium &&
            sink.mode == TableSinkOptions::Mode::insert) {
            report.warning_at(
                path + ".envelope",
                "Delete events are rejected by an insert sink. Write `mode: upsert` if "
                "the topic holds deletes.");
        }
        return;
    }
    if (sink.mode != TableSinkOptions::Mode::upsert) {
        report.error_at(path + ".tombstones",
                        "An insert sink does not know which row a tombstone deletes. Write `mode: "
                        "upsert` with a `conflict_target`, or `tombstones: skip`.");
        return;
    }
    for (const std::string& name : sink.conflict_target) {
        const ColumnOptions* column = find_column(sink, name);
        if (column == nullptr || column->source.kind != FieldSource::Kind::field) continue;
        report.error_at(
            path + ".tombstones",
            "A tombstone has no payload, so the row's `" + name +
                "` cannot come from a path in it. Take it from `{metadata: record_key}` or "
                "a header, or write `tombstones: skip`.");
    }
    const auto& sources = topic.key.sources;
    const bool only_payload =
        !sources.empty() &&
        std::all_of(sources.begin(), sources.end(), [](const KeySource& source) {
            return source.kind == KeySource::Kind::field ||
                   source.kind == KeySource::Kind::payload_sha256;
        });
    if (only_payload && topic.key.on_missing == KeyPolicy::reject) {
        report.warning_at(
            path + ".tombstones",
            "A tombstone has no payload, so it has no key here and is rejected. Add a "
            "header or `coordinates` to `key.sources`.");
    }
}

}  // namespace

void check_table_sink(const TopicConfiguration& topic, const TableSinkOptions& sink,
                      const std::string& path, Report& report) {
    const std::string sink_path = path + ".sink";
    if (!report.given(sink_path + ".table") && !report.given(sink_path + ".columns")) {
        report.error_at(sink_path,
                        "There is no sink. Write `sink:` with `table:` and `columns:`, or with "
                        "`outbox: {topic: NAME}` or `webhook: {url: https://example.org/...}`.");
        return;
    }
    for (const char* option : {"table", "columns"}) {
        if (report.given(sink_path + "." + option)) continue;
        report.error_at(sink_path + "." + option, "`" + std::string(option) +
                                                      "` is missing. A table sink has `table` and "
                                                      "`columns`.");
    }
    check_upsert(sink, sink_path, report);
    check_deletes(topic, sink, path, report);
    const auto dots = std::count(sink.table.begin(), sink.table.end(), '.');
    if (dots > 1) {
        report.error_at(sink_path + ".table",
                        "A table is `name` or `schema.name`; the database is "
                        "named in `postgres.dsn`.");
    }
}

}  // namespace onceward
