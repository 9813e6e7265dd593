// configuration_text(): a plan as a configuration for people, who will edit it.

#include <algorithm>
#include <sstream>

#include "cli/connectors/connector_conversion.h"

namespace onceward {
namespace {

bool is_plain(const std::string& text) {
    static const std::vector<std::string> words = {"null", "true", "false", "yes", "no",
                                                   "on",   "off",  "y",     "n"};
    return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
           text.front() != '-' && text.front() != '.' &&
           std::ranges::all_of(text,
                               [](unsigned char c) {
                                   return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
                               }) &&
           std::ranges::find(words, text) == words.end();
}

std::string name_text(const std::string& text) { return is_plain(text) ? text : in_quotes(text); }

std::string value_text(const std::string& text) { return name_text(without_variables(text)); }

std::string source_text(const PlannedColumn& column) {
    const bool mapping = column.source.starts_with('{');
    const bool simple = std::ranges::all_of(column.source, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '/' || c == '_' || c == '.' || c == '-';
    });
    const std::string path = mapping || column.source == "''" || simple
                                 ? column.source
                                 : in_quotes(without_variables(column.source));
    if (!column.required) return path;
    if (mapping) return path.substr(0, path.size() - 1) + ", required: true}";
    return "{field: " + path + ", required: true}";
}

// What stays one line, whatever the connector's file has.
std::string in_a_line(std::string text) {
    for (char& letter : text) {
        if (static_cast<unsigned char>(letter) < ' ') letter = ' ';
    }
    return text;
}

void write_notes(const ConnectorPlan& plan, std::ostream& out) {
    if (plan.notes.empty()) return;
    out << "#\n# What the connector has and this file has not, or not in the same way:\n";
    for (const ConnectorNote& note : plan.notes) {
        out << "#   " << in_a_line(note.option) << ": " << in_a_line(note.text) << "\n";
    }
}

void write_topic(const PlannedTopic& topic, const ConnectorPlan& plan, std::ostream& out) {
    out << "  - name: " << value_text(topic.name) << "\n    format: " << plan.format << "\n";
    if (!plan.registry.empty()) out << "    registry: main\n";
    if (!plan.envelope.empty()) out << "    envelope: " << plan.envelope << "\n";
    if (!plan.dead_letters.empty()) {
        out << "    dead_letters: {topic: " << value_text(plan.dead_letters)
            << ", headers: connect}\n";
    }
    out << "    tombstones: " << plan.tombstones << "\n"
        << "    start: committed               # where the connector's group stopped\n"
        << "    start_fallback: earliest\n"
        << "    key:\n"
        << "      preset: kafka-coordinates    # what Kafka delivers twice counts once. If "
           "producers\n"
        << "                                   # send a key, name it: {sources: [{header: NAME}]}\n"
        << "    sink:\n"
        << "      table: " << value_text(topic.table) << "\n";
    if (!topic.conflict_target.empty()) {
        out << "      mode: upsert\n      conflict_target: [";
        for (std::size_t i = 0; i < topic.conflict_target.size(); ++i) {
            out << (i == 0 ? "" : ", ") << value_text(topic.conflict_target[i]);
        }
        out << "]\n";
    }
    out << "      columns:\n";
    for (const PlannedColumn& column : topic.columns) {
        out << "        " << name_text(column.name) << ": " << source_text(column) << "\n";
    }
}

}  // namespace

std::string configuration_text(const ConnectorPlan& plan) {
    std::ostringstream out;
    out << "# yaml-language-server: $schema=./onceward.schema.json\n"
        << "# Made by `onceward init --from-connector`. Stop the connector before you start this:\n"
        << "# it takes over the connector's consumer group, and with it the offsets.\n";
    write_notes(plan, out);
    out << "\ngroup: " << value_text(plan.group) << "\n\nkafka:\n"
        << "  bootstrap_servers: ${KAFKA_SERVERS:-localhost:9092}\n";
    if (!plan.kafka_properties.empty()) out << "  properties:\n";
    for (const auto& [name, value] : plan.kafka_properties) {
        out << "    " << name << ": " << in_quotes(value) << "\n";
    }
    out << "\npostgres:\n  dsn: " << in_quotes(plan.dsn) << "\n\nworkers: " << plan.workers << "\n";
    if (plan.batch_messages > 0) out << "\nbatch:\n  messages: " << plan.batch_messages << "\n";
    if (!plan.registry.empty()) {
        out << "\nregistries:\n  - name: main\n    urls: [" << in_quotes(plan.registry) << "]\n";
    }
    out << "\ntopics:\n";
    for (const PlannedTopic& topic : plan.topics) write_topic(topic, plan, out);
    return out.str();
}

}  // namespace onceward
