#include <algorithm>
#include <string>

#include "cli/configuration/checks.h"
#include "dedup/sink/http_header_rules.h"

namespace onceward {
namespace {

void check_results(const TopicConfiguration& topic, const LedgerOptions& ledger,
                   const std::string& path, Report& report) {
    const std::string results = path + (report.given(path + ".results") ? ".results" : ".reply");
    const bool called = std::holds_alternative<WebhookOptions>(topic.sink);
    if (!called && !std::holds_alternative<FunctionSinkOptions>(topic.sink)) {
        report.error_at(results,
                        "This sink returns no results. Write `sink: {function: NAME, ...}` (its "
                        "rows are the results) or `webhook` (its answers are the results), or "
                        "remove this.");
        return;
    }
    if (called && topic.answers.limits.on_too_large == ResultLimits::TooLarge::reject) {
        report.error_at(path + ".results.on_too_large",
                        "When a webhook answers, its effect has happened: the message cannot be "
                        "rejected. Write `drop_body`.");
    }
    if (ledger.reach == Reach::partition) {
        report.error_at(results,
                        "With `reach: partition` a key may be applied once in each partition, so "
                        "it may have more than one answer. Write `reach: global`.");
    }
    for (const std::string& name : topic.answers.limits.headers) {
        if (!is_never_stored(name)) continue;
        report.error_at(path + ".results.headers",
                        "`" + name +
                            "` is never stored: it sets a cookie, is a credential, or belongs to "
                            "one connection. Remove it.");
    }
    if (!report.given(path + ".reply")) return;
    if (topic.answers.reply.topic.empty()) {
        report.error_at(path + ".reply", "The topic for replies is missing. Write `topic: NAME`.");
    } else if (!valid_topic_name(topic.answers.reply.topic)) {
        report.error_at(path + ".reply.topic",
                        "This is not a topic's name (letters, digits, `.`, `_`, `-`, 249 at "
                        "most).");
    } else if (topic.answers.reply.topic == topic.name) {
        report.error_at(path + ".reply.topic",
                        "Replies would be read and answered again, for ever. Write another topic.");
    }
}

}  // namespace

void check_function_sink(const TopicConfiguration& topic, const FunctionSinkOptions& sink,
                         const std::string& path, Report& report) {
    const std::string sink_path = path + ".sink";
    if (!report.given(sink_path + ".columns")) {
        report.error_at(sink_path + ".columns",
                        "`columns` is missing: the values of each message that the function "
                        "receives.");
    }
    for (const char* other : {"table", "outbox"}) {
        if (!report.given(sink_path + "." + other)) continue;
        report.error_at(sink_path + ".function",
                        "Give either `" + std::string(other) + "` or `function`, not both.");
    }
    for (const char* option : {"mode", "conflict_target", "only_if_newer", "transport"}) {
        if (!report.given(sink_path + "." + option)) continue;
        report.error_at(sink_path + "." + option,
                        "A function decides itself what it writes. Remove this, or write `table`.");
    }
    if (topic.format.tombstones == TombstonePolicy::remove) {
        report.error_at(path + ".tombstones",
                        "A function does not receive removals. Write `tombstones: skip` or "
                        "`reject`.");
    }
    if (std::ranges::count(sink.function, '.') > 1) {
        report.error_at(sink_path + ".function",
                        "A function is `name` or `schema.name`; the database is named in "
                        "`postgres.dsn`.");
    }
}

void check_answers(const TopicConfiguration& topic, const LedgerOptions& ledger,
                   const std::string& path, Report& report) {
    if (topic.stores_results) check_results(topic, ledger, path, report);
}

}  // namespace onceward
