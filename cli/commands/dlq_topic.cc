// `onceward dlq redrive --from-topic`: letters of a topic of dead letters, of any of its writers.

#include <iostream>

#include "cli/commands/dlq_options.h"
#include "cli/operator/broker_view.h"
#include "cli/terminal/output.h"
#include "consumer/kafka/range_reader.h"

namespace onceward {
namespace {

constexpr std::chrono::seconds read_limit{30};
constexpr std::size_t page_messages = 500;
constexpr std::size_t page_bytes = 8 << 20;

void read_topic(const KafkaOptions& kafka, const std::string& topic, LetterIntake& intake) {
    BrokerView log(kafka);
    const int partitions = log.queries().partition_count(topic);
    if (partitions <= 0) {
        throw CommandError(exit_not_found, "the brokers know no topic " + topic,
                           "--from-topic names the topic that has the dead letters");
    }
    RangeReader reader(kafka);
    for (int number = 0; number < partitions && !intake.full(); ++number) {
        const TopicPartition partition{topic, Partition{number}};
        const LogRange range = log.range(partition);
        if (range.earliest >= range.latest) continue;
        reader.open({partition, range.earliest, range.latest});
        for (Offset position = range.earliest; position < range.latest && !intake.full();) {
            const RecordPage page = reader.page(page_messages, page_bytes, read_limit);
            intake.take(page.records);
            position = page.end;
        }
    }
}

// What is not sent, and why.
void tell_what_was_left(const TakenLetters& taken, const DlqOptions& options,
                        const std::string& group) {
    const auto count = [](std::int64_t number) { return std::to_string(number); };
    warn_if(taken.unreadable > 0,
            count(taken.unreadable) + " records are no dead letters that can be read, and stay:");
    for (const std::string& place : taken.unreadable_places) warn("  " + place);
    warn_if(taken.other_topic > 0,
            count(taken.other_topic) + " are of other topics than " + options.topic);
    warn_if(
        taken.other_group > 0,
        count(taken.other_group) + " are of other groups of Onceward than " + group + ", and stay");
    warn_if(taken.read_here > 0,
            count(taken.read_here) + " are of messages that group " + group +
                " has read itself and has no letter of: they are applied, or were passed. They "
                "stay; --may-repeat sends them");
    warn_if(taken.no_fence > 0, count(taken.no_fence) + " are of partitions that group " + group +
                                    " has never read: start a worker on topic " + options.topic +
                                    " first");
}

}  // namespace

// All letters of the topic are taken into the table: what chose among them would choose too late,
// and the others would stay there, open.
void check_from_topic(const DlqOptions& options) {
    if (options.from_topic.empty()) return;
    usage_error_if(options.from_topic == options.topic,
                   "--from-topic is the topic of the dead letters, --topic that of the messages");
    const DeadLetterFilter& filter = options.filter;
    const bool chooses = !filter.classes.empty() || !filter.key.empty() || !options.since.empty() ||
                         !options.until.empty() || !filter.numbers.empty();
    usage_error_if(chooses || !options.file.empty(),
                   "--from-topic takes in all letters of --topic: leave --class, --key, --since, "
                   "--until, --number and --payload out");
}

void read_from_topic(const DlqOptions& options, const Configuration& configuration,
                     const DeadLetterFilter& filter, LetterIntake& intake) {
    read_topic(configuration.kafka, options.from_topic, intake);
    const TakenLetters& taken = intake.taken();
    tell_what_was_left(taken, options, filter.group);
    if (options.json) return;
    std::cout << options.from_topic << ": " << taken.read << " records, " << taken.added
              << " letters are new in the table, " << taken.present << " were there to be sent, "
              << taken.done << " have been dealt with, " << taken.discarded << " were discarded\n";
}

}  // namespace onceward
