// configuration_text(): a plan as a configuration for people, who will edit it.

#include <sstream>

#include "cli/configuration/yaml_text.h"
#include "cli/connectors/connector_conversion.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

std::string source_text(const ConnectorColumn& column) {
    const bool mapping = column.source.starts_with('{');
    const std::string path = mapping ? column.source : yaml_value(column.source);
    if (!column.required) return path;
    if (mapping) return path.substr(0, path.size() - 1) + ", required: true}";
    return "{field: " + path + ", required: true}";
}

void write_notes(const ConnectorPlan& plan, std::ostream& out) {
    if (plan.notes.empty()) return;
    out << "#\n# What the connector has and this file has not, or not in the same way:\n";
    for (const ConnectorNote& note : plan.notes) {
        out << "#   " << safe_text(note.option + ": " + note.text, LineBreaks::escaped) << "\n";
    }
}

void write_topic(const ConnectorTopic& topic, const ConnectorPlan& plan, std::ostream& out) {
    out << "  - name: " << yaml_value(topic.name) << "\n    format: " << plan.format << "\n";
    if (!plan.registry.empty()) out << "    registry: main\n";
    if (!plan.envelope.empty()) out << "    envelope: " << plan.envelope << "\n";
    if (!plan.dead_letters.empty()) {
        out << "    dead_letters: {topic: " << yaml_value(plan.dead_letters)
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
        << "      table: " << yaml_value(topic.table) << "\n";
    if (!topic.conflict_target.empty()) {
        out << "      mode: upsert\n      conflict_target: [";
        for (std::size_t i = 0; i < topic.conflict_target.size(); ++i) {
            out << (i == 0 ? "" : ", ") << yaml_value(topic.conflict_target[i]);
        }
        out << "]\n";
    }
    out << "      columns:\n";
    for (const ConnectorColumn& column : topic.columns) {
        out << "        " << yaml_text(column.name) << ": " << source_text(column) << "\n";
    }
}

}  // namespace

std::string configuration_text(const ConnectorPlan& plan) {
    std::ostringstream out;
    out << "# yaml-language-server: $schema=./onceward.schema.json\n"
        << "# Made by `onceward init --from-connector`. Stop the connector before you start this:\n"
        << "# it takes over the connector's consumer group, and with it the offsets.\n";
    write_notes(plan, out);
    out << "\ngroup: " << yaml_value(plan.group) << "\n\nkafka:\n"
        << "  bootstrap_servers: ${KAFKA_SERVERS:-localhost:9092}\n";
    if (!plan.kafka_properties.empty()) out << "  properties:\n";
    for (const auto& [name, value] : plan.kafka_properties) {
        out << "    " << name << ": " << yaml_text(value) << "\n";
    }
    out << "\npostgres:\n  dsn: " << yaml_text(plan.dsn) << "\n\nworkers: " << plan.workers << "\n";
    if (plan.batch_messages > 0) out << "\nbatch:\n  messages: " << plan.batch_messages << "\n";
    if (!plan.registry.empty()) {
        out << "\nregistries:\n  - name: main\n    urls: [" << yaml_text(plan.registry) << "]\n";
    }
    out << "\ntopics:\n";
    for (const ConnectorTopic& topic : plan.topics) write_topic(topic, plan, out);
    return out.str();
}

}  // namespace onceward
