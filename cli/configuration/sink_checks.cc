#include <algorithm>

#include "cli/configuration/checks.h"
#include "cli/configuration/values.h"
#include "sinks/columns/conversion_check.h"

namespace onceward {
namespace {

const ColumnOptions* find_column(const TableSinkOptions& sink, const std::string& name) {
    const auto found = std::ranges::find(sink.columns, name, &ColumnOptions::name);
    return found == sink.columns.end() ? nullptr : &*found;
}

void expect_column(const TableSinkOptions& sink, const std::string& name, const std::string& option,
                   const Section& at) {
    if (!at.known("columns") || find_column(sink, name) != nullptr) return;
    std::vector<std::string> names;
    for (const ColumnOptions& column : sink.columns) names.push_back(column.name);
    at.error(option, "`" + name + "` is not one of this sink's columns" + guess(name, names) +
                         " Name one of `columns`, or add it there.");
}

// `at` is the sink.
void check_upsert(const TableSinkOptions& sink, const Section& at) {
    const bool upsert = sink.mode == TableSinkOptions::Mode::upsert;
    at.check({
        {upsert && sink.conflict_target.empty(), "conflict_target",
         "`mode: upsert` has to know which row to change. Write `conflict_target: [COLUMN]`, the "
         "columns of a unique index."},
        {!upsert && at.given("conflict_target"), "conflict_target",
         "An insert has no conflict target. Write `mode: upsert`, or remove it."},
        {!upsert && at.given("only_if_newer"), "only_if_newer",
         "An insert changes no row. Write `mode: upsert`, or remove it."},
        {upsert && at.given("transport") &&
             sink.transport != TableSinkOptions::Transport::values,
         "transport",
         "An upsert travels in arrays, or by `values`. Remove this, or write `mode: insert`."},
    });
    for (const std::string& name : sink.conflict_target) {
        expect_column(sink, name, "conflict_target", at);
    }
    if (!sink.only_if_newer.empty()) expect_column(sink, sink.only_if_newer, "only_if_newer", at);
}

void check_deletes(const TopicConfiguration& topic, const TableSinkOptions& sink,
                   const Section& at) {
    const bool insert = sink.mode == TableSinkOptions::Mode::insert;
    if (topic.format.tombstones != TombstonePolicy::remove) {
        if (topic.format.envelope == Envelope::debezium && insert) {
            at.warning("envelope",
                       "Delete events are rejected by an insert sink. Write `mode: upsert` if the "
                       "topic holds deletes.");
        }
        return;
    }
    if (insert) {
        at.error("tombstones",
                 "An insert sink does not know which row a tombstone deletes. Write `mode: upsert` "
                 "with a `conflict_target`, or `tombstones: skip`.");
        return;
    }
    for (const std::string& name : sink.conflict_target) {
        const ColumnOptions* column = find_column(sink, name);
        if (column == nullptr || column->source.kind != FieldSource::Kind::field) continue;
        at.error("tombstones", "A tombstone has no payload, so the row's `" + name +
                                   "` cannot come from a path in it. Take it from `{metadata: "
                                   "record_key}` or a header, or write `tombstones: skip`.");
    }
    const auto& sources = topic.key.sources;
    const bool only_payload =
        !sources.empty() && std::ranges::all_of(sources, [](const KeySource& source) {
            return source.kind == KeySource::Kind::field ||
                   source.kind == KeySource::Kind::fields ||
                   source.kind == KeySource::Kind::change ||
                   source.kind == KeySource::Kind::payload_sha256;
        });
    if (only_payload && topic.key.on_missing == KeyPolicy::reject) {
        at.warning("tombstones",
                   "A tombstone has no payload, so it has no key here and is rejected. Add a "
                   "header or `coordinates` to `key.sources`.");
    }
}

}  // namespace

void check_conversions(const std::vector<ColumnOptions>& columns, ColumnPlace place,
                       const std::string& option, const Section& at) {
    for (const ColumnOptions& column : columns) {
        const std::string where = option + "." + column.name;
        if (const std::string fault = order_fault(column); !fault.empty()) {
            at.error(where, fault + ". docs/types.md lists the conversions.");
            continue;
        }
        const std::string fault = place == ColumnPlace::table      ? ""
                                  : place == ColumnPlace::document ? document_fault(column)
                                                                   : header_fault(column);
        if (!fault.empty()) at.error(where, "`" + column.name + "` " + fault + ".");
    }
}

void check_table_sink(const TopicConfiguration& topic, const TableSinkOptions& sink,
                      const Section& at) {
    const Section here = at.at("sink");
    if (!here.given("table") && !here.given("columns")) {
        here.error("",
                   "There is no sink. Write `sink:` with `table:` or `function:` and with "
                   "`columns:`, or with `outbox: {topic: NAME}` or `webhook: {url: "
                   "https://example.org/...}`.");
        return;
    }
    const std::string both = "` is missing. A table sink has `table` and `columns`.";
    here.check({{!here.given("table"), "table", "`table" + both},
                {!here.given("columns"), "columns", "`columns" + both}});
    check_upsert(sink, here);
    check_conversions(sink.columns, ColumnPlace::table, "columns", here);
    check_deletes(topic, sink, at);
    if (std::ranges::count(sink.table, '.') > 1) {
        here.error("table",
                   "A table is `name` or `schema.name`; the database is named in `postgres.dsn`.");
    }
}

void check_function_sink(const TopicConfiguration& topic, const FunctionSinkOptions& sink,
                         const Section& at) {
    const Section here = at.at("sink");
    here.check({
        {!here.given("columns"), "columns",
         "`columns` is missing: the values of each message that the function receives."},
        {here.given("table"), "function", "Give either `table` or `function`, not both."},
        {here.given("outbox"), "function", "Give either `outbox` or `function`, not both."},
    });
    check_conversions(sink.columns, ColumnPlace::document, "columns", here);
    here.refuse({"mode", "conflict_target", "only_if_newer", "transport"},
                "A function decides itself what it writes. Remove this, or write `table`.");
    at.check({
        {topic.format.tombstones == TombstonePolicy::remove, "tombstones",
         "A function does not receive removals. Write `tombstones: skip` or `reject`."},
        {std::ranges::count(sink.function, '.') > 1, "sink.function",
         "A function is `name` or `schema.name`; the database is named in `postgres.dsn`."},
    });
}

void check_answers(const TopicConfiguration& topic, const LedgerOptions& ledger,
                   const Section& at) {
    if (!topic.stores_results) return;
    const std::string results = at.given_of("results", "reply");
    const bool called = std::holds_alternative<WebhookOptions>(topic.sink);
    if (!called && !std::holds_alternative<FunctionSinkOptions>(topic.sink)) {
        at.error(results,
                 "This sink returns no results. Write `sink: {function: NAME, ...}` (its rows are "
                 "the results) or `webhook` (its answers are the results), or remove this.");
        return;
    }
    at.check({
        {called && topic.answers.limits.on_too_large == ResultLimits::TooLarge::reject,
         "results.on_too_large",
         "When a webhook answers, its effect has happened: the message cannot be rejected. Write "
         "`drop_body`."},
        {ledger.reach == Reach::partition, results,
         "With `reach: partition` a key may be applied once in each partition, so it may have more "
         "than one answer. Write `reach: global`."},
    });
    check_kept_headers(topic.answers.limits, at);
    if (!at.given("reply")) return;
    const std::string& reply = topic.answers.reply.topic;
    if (reply.empty()) {
        at.error("reply", "The topic for replies is missing. Write `topic: NAME`.");
    } else if (check_topic_name(reply, "reply.topic", at) && reply == topic.name) {
        at.error("reply.topic",
                 "Replies would be read and answered again, for ever. Write another topic.");
    }
}

}  // namespace onceward
