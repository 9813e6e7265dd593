// The topics that dead letters are published to.

#include <algorithm>
#include <set>

#include "cli/configuration/checks.h"
#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"

namespace onceward {

const std::vector<OptionSpec> dead_letter_options = {
    {"topics[].dead_letters.topic", "", into([](To& to) { return &to.dead_letters.topic; }),
     "In addition to the table: the topic to which each new dead letter is published, by the "
     "outbox, in the transaction that rejects the message. Its key, payload and headers are the "
     "message's, byte for byte; headers that say where it came from and why it was rejected "
     "follow. `onceward dlq redrive --from-topic` reads such topics.",
     "Two rows for each dead letter. One that is larger than the topic takes "
     "(`max.message.bytes`) is held in the outbox, with the later ones of its record key, until an "
     "operator resolves it."},
    {"topics[].dead_letters.headers", "onceward",
     into([](To& to) { return &to.dead_letters.style; }, {"onceward", "connect", "spring"}),
     "The style of these headers: Onceward's `onceward-dlq-*`, those of Kafka Connect "
     "(`__connect.errors.*`), or those of Spring for Apache Kafka (`kafka_dlt-*`), for programs "
     "that read them already."},
};

namespace {

const TopicConfiguration* topic_named_in(const Configuration& configuration,
                                         const std::string& name) {
    const auto found = std::ranges::find(configuration.topics, name, &TopicConfiguration::name);
    return found == configuration.topics.end() ? nullptr : &*found;
}

// Whether dead letters of the topic are read, rejected and published until they are back in it.
bool comes_round(const Configuration& configuration, const TopicConfiguration& topic) {
    std::set<std::string> seen;
    const TopicConfiguration* at = &topic;
    while (at != nullptr && at->dead_letters && seen.insert(at->name).second) {
        at = topic_named_in(configuration, at->dead_letters->topic);
        if (at == &topic) return true;
    }
    return false;
}

bool publishes_to(const TopicConfiguration& topic, const std::string& name) {
    return std::ranges::any_of(
               outboxes_of(topic),
               [&](const OutboxOptions* outbox) { return outbox->topic == name; }) ||
           (replies(topic) && topic.answers.reply.topic == name);
}

void check_letter_topic(const Configuration& configuration, const TopicConfiguration& topic,
                        const Section& at) {
    const std::string& name = topic.dead_letters->topic;
    if (!at.given("topic")) {
        at.error("topic",
                 "`topic` is missing: where dead letters are published. Write `topic: "
                 "NAME`.");
        return;
    }
    if (!check_topic_name(name, "topic", at)) return;
    const bool mixed =
        std::ranges::any_of(configuration.topics,
                            [&](const TopicConfiguration& one) { return publishes_to(one, name); });
    at.check({
        {name == topic.name, "topic",
         "A dead letter would be read and rejected again, for ever. Name another topic."},
        {name != topic.name && comes_round(configuration, topic), "topic",
         "`" + name + "` is read here too, and its dead letters come back to `" + topic.name +
             "`: a message that is always rejected would go round for ever. Name another topic at "
             "one of them."},
        {mixed, "topic",
         "An outbox publishes results to this topic: their readers would take dead letters for "
         "results. Name another one."},
        {topic.reject.action == RejectPolicy::Action::halt &&
             topic.reject.conflict_action() != RejectPolicy::OnConflict::dead_letter,
         "",
         "With `on_reject: halt` there are no dead letters. Remove this, or write `on_reject: "
         "dead_letter`."},
    });
}

}  // namespace

void check_dead_letter_topics(const Configuration& configuration, Report& report) {
    for (const TopicConfiguration& topic : configuration.topics) {
        if (!topic.dead_letters) continue;
        check_letter_topic(configuration, topic, Section(report, topic.path + ".dead_letters"));
    }
}

}  // namespace onceward
