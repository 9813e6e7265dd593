// The outbox in a configuration: as a topic's sink, and in addition to one.

#include "cli/configuration/checks.h"
#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"
#include "consumer/relay/relay.h"

namespace onceward {
namespace {

template <OutboxOptions MessageTarget::*outbox>
const std::vector<OptionSpec> entries = {
    {"topics[].sink.outbox.topic", "", into([](To& to) { return &(to.*outbox).topic; }),
     "The topic to which each message is published. The message's transaction writes a row into "
     "Onceward's own table `outbox`, and a relay in one of the group's processes sends it. The "
     "header `onceward-id` has an id that stays the same if the record is sent again.",
     "A row is written and deleted for each message. Records with the same key are sent one at a "
     "time, so a single key is as fast as the brokers' answers."},
    {"topics[].sink.outbox.key", "<{metadata: record_key}>",
     into([](To& to) { return &(to.*outbox).key; }),
     "The record's key. Records with the same key are sent in order. If the message has no such "
     "value, the record has no key, and its order is not kept."},
    {"topics[].sink.outbox.payload", "<{metadata: payload}>",
     into([](To& to) { return &(to.*outbox).payload; }),
     "What is published. Text and bytes are sent as they are, all else as JSON. A message without "
     "it is rejected; one that removes its row (`tombstones: delete`, a delete event) becomes a "
     "tombstone."},
    {"topics[].sink.outbox.fields", "", into([](To& to) { return &(to.*outbox).fields; }),
     "In place of `payload`: a JSON object with these members. What the message lacks is left out, "
     "unless it is `required: true` or has a `default`. Members may have `convert`."},
    {"topics[].sink.outbox.headers", "", into([](To& to) { return &(to.*outbox).headers; }),
     "The record's headers in addition to its id, such as `traceparent: {header: traceparent}`. "
     "The message's own headers are not copied unless named here. With `traces` the outbox writes "
     "`traceparent` and `tracestate` itself."},
    {"topics[].sink.outbox.record_max", "1MB",
     into_size([](To& to) { return &(to.*outbox).record_max; }, {1024, 900'000'000}),
     "A message whose record has more bytes of key, payload and headers is rejected. Not above "
     "what the topic takes (`max.message.bytes`).",
     "A record that passes here and is too large for its topic is held, with the later ones of its "
     "key, until an operator resolves it."},
};

void check_outbox(const TopicConfiguration& topic, const OutboxOptions& outbox,
                  const std::string& option, const Section& at) {
    const Section here = at.at(option);
    if (!here.given("topic")) {
        here.error("topic", "`topic` is missing: where the records go. Write `topic: NAME`.");
    } else if (check_topic_name(outbox.topic, "topic", here) && outbox.topic == topic.name) {
        here.error("topic",
                   "The outbox would publish to the topic that it reads. Name another one.");
    }
    if (here.given("payload") && here.given("fields")) {
        here.error("fields", "Give either `payload` or `fields`, not both.");
    }
    for (const ColumnOptions& header : outbox.headers) {
        if (header.name != outbox_id_header) continue;
        here.error("headers." + header.name,
                   "This header is the outbox's own, with the record's id. Name another one.");
    }
    const FormatOptions& format = topic.format;
    check_field_path(outbox.key, format, option + ".key", at);
    check_field_path(outbox.payload, format, option + ".payload", at);
    check_field_paths(outbox.fields, format, option + ".fields", at);
    check_field_paths(outbox.headers, format, option + ".headers", at);
    check_conversions(outbox.fields, ColumnPlace::document, "fields", here);
    check_conversions(outbox.headers, ColumnPlace::header, "headers", here);
}

}  // namespace

std::vector<OptionSpec> outbox_options() {
    std::vector<OptionSpec> all = entries<&MessageTarget::outbox>;
    // In addition to another sink: the same options, in fewer words.
    for (OptionSpec spec : entries<&MessageTarget::also_publish>) {
        const std::string name = spec.path.substr(spec.path.rfind('.') + 1);
        spec.path = "topics[].also_publish." + name;
        spec.meaning = "As `sink.outbox." + name + "`.";
        if (name == "topic") {
            spec.meaning =
                "In addition to the sink: the topic to which each message is published, in the "
                "same "
                "transaction. " +
                spec.meaning;
        }
        spec.cost.clear();
        all.push_back(std::move(spec));
    }
    return all;
}

std::vector<ColumnOptions> columns_of(const TopicConfiguration& topic) {
    if (const auto* table = std::get_if<TableSinkOptions>(&topic.sink)) return table->columns;
    const auto* function = std::get_if<FunctionSinkOptions>(&topic.sink);
    return function != nullptr ? function->columns : std::vector<ColumnOptions>();
}

std::vector<const OutboxOptions*> outboxes_of(const TopicConfiguration& topic) {
    std::vector<const OutboxOptions*> all;
    if (const auto* outbox = std::get_if<OutboxOptions>(&topic.sink)) all.push_back(outbox);
    if (topic.also_publish) all.push_back(&*topic.also_publish);
    return all;
}

void check_outboxes(const TopicConfiguration& topic, const Section& at) {
    if (const auto* sink = std::get_if<OutboxOptions>(&topic.sink)) {
        for (const char* option :
             {"table", "mode", "columns", "conflict_target", "only_if_newer", "transport"}) {
            if (!at.given("sink." + std::string(option))) continue;
            at.error("sink.outbox", "A topic has one sink, and `" + std::string(option) +
                                        "` is a table's. What is published in addition to a table "
                                        "belongs under `also_publish`.");
            break;
        }
        check_outbox(topic, *sink, "sink.outbox", at);
    }
    if (topic.also_publish) check_outbox(topic, *topic.also_publish, "also_publish", at);
}

}  // namespace onceward
