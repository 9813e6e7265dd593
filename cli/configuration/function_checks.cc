#include <algorithm>

#include "cli/configuration/checks.h"

namespace onceward {
namespace {

void check_results(const TopicConfiguration& topic, const LedgerOptions& ledger,
                   const Section& at) {
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

}  // namespace

void check_function_sink(const TopicConfiguration& topic, const FunctionSinkOptions& sink,
                         const Section& at) {
    const Section here = at.at("sink");
    here.check({
        {!here.given("columns"), "columns",
         "`columns` is missing: the values of each message that the function receives."},
        {here.given("table"), "function", "Give either `table` or `function`, not both."},
        {here.given("outbox"), "function", "Give either `outbox` or `function`, not both."},
    });
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
    if (topic.stores_results) check_results(topic, ledger, at);
}

}  // namespace onceward
