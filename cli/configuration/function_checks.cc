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
                        "This sink gives no results. Write `sink: {function: NAME, ...}`, whose "
                        "rows they are, or `webhook`, whose answers they are, or remove this.");
        return;
    }
    if (called && topic.answers.limits.on_too_large == ResultLimits::TooLarge::reject) {
        report.error_at(path + ".results.on_too_large",
                        "When a webhook answers its effect has happened: it cannot be rejected. "
                        "Write `drop_body`.");
    }
    if (ledger.reach == Reach::partition) {
        report.error_at(results,
                        "With `reach: partition` a key may be applied once in each partition, so "
                        "that it has no one answer. Write `reach: global`.");
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
        report.error_at(path + ".reply", "Where do replies go? Write `topic: NAME`.");
    } else if (!valid_topic_name(topic.answers.reply.topic)) {
        report.error_at(path + ".reply.topic",
                        "This is no topic's name (letters, digits, `.`, `_`, `-`, 249 at most).");
    } else if (topic.answers.reply.topic == topic.name) {
        report.error_at(path + ".reply.topic",
                        "The topic would be answered in itself, for ever. Write another topic.");
    }
}

}  // namespace

void check_function_sink(const TopicConfiguration& topic, const FunctionSinkOptions& sink,
                         const std::string& path, Report& report) {
    const std::string sink_path = path + ".sink";
    if (!report.given(sink_path + ".columns")) {
        report.error_at(sink_path + ".columns",
                        "`columns` is missing: what the function is given of each message.");
    }
    for (const char* other : {"table", "outbox"}) {
        if (!report.given(sink_path + "." + other)) continue;
        report.error_at(sink_path + ".function",
                        "Give either `" + std::string(other) + "` or `function`, not both.");
    }
    for (const char* option : {"mode", "conflict_target", "only_if_newer", "transport"}) {
        if (!report.given(sink_path + "." + option)) continue;
        report.error_at(sink_path + "." + option,
                        "A function writes what it likes. Remove this, or write `table`.");
    }
    if (topic.format.tombstones == TombstonePolicy::remove) {
        report.error_at(path + ".tombstones",
                        "A function is told of no removals. Write `tombstones: skip` or `reject`.");
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
