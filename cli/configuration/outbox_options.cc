// The outbox in a configuration: as a topic's sink, and in addition to one.

#include <array>

#include "cli/configuration/checks.h"
#include "cli/configuration/option_table.h"
#include "consumer/relay/relay.h"

namespace onceward {
namespace {
using To = OptionTarget;
using In = OptionValue;

template <OutboxOptions* To::*outbox>
const OptionSpec entries[] = {
    {.path = "topics[].sink.outbox.topic",
     .meaning = "The topic to which each message is published: as a row of Onceward's own table "
                "`outbox`, in the message's transaction, which a relay in one of the group's "
                "processes sends. With an id in the header `onceward-id`, which stays the same if "
                "the record is sent again.",
     .cost = "A row is written and deleted for each message. Records with the same key are sent "
             "one at a time, so a single key is as fast as the brokers' answers.",
     .bind = [](To& to, const In& value) { (to.*outbox)->topic = value.text; }},
    {.path = "topics[].sink.outbox.key",
     .type = OptionType::source,
     .default_text = "<{metadata: record_key}>",
     .meaning = "The record's key. Records with one key are sent in their order; a message without "
                "it makes one without a key, in no order.",
     .bind = [](To& to, const In& value) { (to.*outbox)->key = value.source; }},
    {.path = "topics[].sink.outbox.payload",
     .type = OptionType::source,
     .default_text = "<{metadata: payload}>",
     .meaning = "What is published. Text and bytes are sent as they are, all else as JSON. A "
                "message without it is rejected; one that removes its row (`tombstones: delete`, a "
                "delete event) becomes a tombstone.",
     .bind = [](To& to, const In& value) { (to.*outbox)->payload = value.source; }},
    {.path = "topics[].sink.outbox.fields",
     .type = OptionType::columns,
     .meaning = "In place of `payload`: a JSON object with these members. What the message lacks "
                "is left out, unless it is `required: true`.",
     .bind = [](To& to, const In& value) { (to.*outbox)->fields = value.columns; }},
    {.path = "topics[].sink.outbox.headers",
     .type = OptionType::columns,
     .meaning = "The record's headers in addition to its id, such as `traceparent: {header: "
                "traceparent}`. The message's own headers are not copied unless named here.",
     .bind = [](To& to, const In& value) { (to.*outbox)->headers = value.columns; }},
    {.path = "topics[].sink.outbox.record_max",
     .type = OptionType::size,
     .default_text = "1MB",
     .meaning = "A message whose record has more bytes of key, payload and headers is rejected. "
                "Not above what the topic takes (`max.message.bytes`).",
     .cost = "A record that passes here and is too large for its topic holds back its key until an "
             "operator resolves it.",
     .bind =
         [](To& to, const In& value) {
             (to.*outbox)->record_max = static_cast<std::size_t>(value.integer);
         },
     .minimum = 1024,
     .maximum = 900'000'000},
};

// In addition to another sink: the same options, in fewer words.
constexpr std::array<std::array<std::string_view, 2>, 6> beside{{
    {"topics[].also_publish.topic",
     "In addition to the sink: the topic to which each message is published, in the same "
     "transaction. As `sink.outbox.topic`."},
    {"topics[].also_publish.key", "As `sink.outbox.key`."},
    {"topics[].also_publish.payload", "As `sink.outbox.payload`."},
    {"topics[].also_publish.fields", "As `sink.outbox.fields`."},
    {"topics[].also_publish.headers", "As `sink.outbox.headers`."},
    {"topics[].also_publish.record_max", "As `sink.outbox.record_max`."},
}};

void check_outbox(const TopicConfiguration& topic, const OutboxOptions& outbox,
                  const std::string& path, Report& report) {
    if (!report.given(path + ".topic")) {
        report.error_at(path + ".topic",
                        "`topic` is missing: where the records go. Write `topic: NAME`.");
    } else if (!valid_topic_name(outbox.topic)) {
        report.error_at(path + ".topic",
                        "This is not a topic's name (letters, digits, `.`, `_`, `-`, 249 at "
                        "most).");
    } else if (outbox.topic == topic.name) {
        report.error_at(path + ".topic",
                        "The outbox would publish to the topic that it reads. Name another one.");
    }
    if (report.given(path + ".payload") && report.given(path + ".fields")) {
        report.error_at(path + ".fields", "Give either `payload` or `fields`, not both.");
    }
    for (const ColumnOptions& header : outbox.headers) {
        if (header.name != outbox_id_header) continue;
        report.error_at(path + ".headers." + header.name,
                        "This header is the outbox's own, with the record's id. Name another one.");
    }
    if (!report.known(topic.path + ".format")) return;
    const auto check = [&](const FieldSource& source, const std::string& option) {
        if (source.kind != FieldSource::Kind::field) return;
        check_field_path(source.text, topic.format.format, path + option, report);
    };
    check(outbox.key, ".key");
    check(outbox.payload, ".payload");
    for (const ColumnOptions& field : outbox.fields) check(field.source, ".fields." + field.name);
    for (const ColumnOptions& header : outbox.headers) {
        check(header.source, ".headers." + header.name);
    }
}

}  // namespace

std::vector<OptionSpec> outbox_options() {
    std::vector<OptionSpec> all;
    for (const OptionSpec& spec : entries<&To::outbox>) all.push_back(spec);
    for (const OptionSpec& spec : entries<&To::also_publish>) all.push_back(spec);
    for (std::size_t i = 0; i < beside.size(); ++i) {
        OptionSpec& spec = all[beside.size() + i];
        spec.path = beside[i][0];
        spec.meaning = beside[i][1];
        spec.cost = {};
    }
    return all;
}

std::vector<const OutboxOptions*> outboxes_of(const TopicConfiguration& topic) {
    std::vector<const OutboxOptions*> all;
    if (const auto* outbox = std::get_if<OutboxOptions>(&topic.sink)) all.push_back(outbox);
    if (topic.also_publish) all.push_back(&*topic.also_publish);
    return all;
}

void check_outboxes(const TopicConfiguration& topic, const std::string& path, Report& report) {
    if (const auto* sink = std::get_if<OutboxOptions>(&topic.sink)) {
        for (const char* option :
             {"table", "mode", "columns", "conflict_target", "only_if_newer", "transport"}) {
            if (!report.given(path + ".sink." + option)) continue;
            report.error_at(path + ".sink.outbox",
                            "A topic has one sink, and `" + std::string(option) +
                                "` is a table's. What is published in addition to a table belongs "
                                "under `also_publish`.");
            break;
        }
        check_outbox(topic, *sink, path + ".sink.outbox", report);
    }
    if (topic.also_publish) {
        check_outbox(topic, *topic.also_publish, path + ".also_publish", report);
    }
}

}  // namespace onceward
