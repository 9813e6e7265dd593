// A proposal as a configuration and as a statement, for people, who will edit both.

#include <sstream>

#include "cli/configuration/yaml_text.h"
#include "cli/proposal/proposal.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

std::string format_name(Format format) {
    switch (format) {
        case Format::json: return "json";
        case Format::protobuf: return "protobuf";
        case Format::raw: return "raw";
        case Format::avro: return "avro";
    }
    return "";
}

// Lines of a comment, whatever the text holds.
void write_comment(const std::string& text, const char* indent, std::ostream& out) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        out << "#" << indent << safe_text(line, LineBreaks::escaped) << "\n";
    }
}

void write_head(const Proposal& proposal, std::ostream& out) {
    out << "# yaml-language-server: $schema=./onceward.schema.json\n"
        << "# Made by `onceward init --from-topic` of " << proposal.records
        << " records, the newest ones. It is a proposal: read what\n"
        << "# follows, and the statement, which nobody has run.\n#\n";
    write_comment("format: " + proposal.shape.evidence, "   ", out);
    write_comment("key: " + proposal.key.evidence, "   ", out);
    for (const std::string& note : proposal.notes) write_comment(note, "   ", out);
    out << "#\n# The table:\n";
    write_comment(table_ddl(proposal), "   ", out);
}

void write_kafka(const SampledTopic& topic, std::ostream& out) {
    out << "\nkafka:\n  bootstrap_servers: " << yaml_value(topic.bootstrap_servers) << "\n";
    if (!topic.properties.empty()) out << "  properties:\n";
    for (const auto& [name, value] : topic.properties) {
        out << "    " << yaml_text(name) << ": " << yaml_text(value) << "\n";
    }
}

void write_format(const Proposal& proposal, std::ostream& out) {
    const PayloadShape& shape = proposal.shape;
    out << "    format: " << format_name(shape.options.format) << "\n";
    if (shape.registry) {
        out << "    registry: main\n";
    } else if (shape.options.framing == Framing::confluent) {
        out << "    framing: confluent\n";
    }
    if (shape.options.envelope == Envelope::connect) out << "    envelope: connect\n";
    if (shape.options.envelope == Envelope::debezium) out << "    envelope: debezium\n";
    out << (proposal.skips_tombstones
                ? "    tombstones: skip               # a null payload\n"
                : "    tombstones: reject             # a null payload; the sample has none\n");
}

void write_key(const KeyChoice& key, std::ostream& out) {
    out << "    key:\n";
    if (key.preset.empty()) {
        out << "      sources: [" << key.source << "]\n";
    } else {
        out << "      preset: " << key.preset << "\n";
    }
}

std::string column_source(const ProposedColumn& column) {
    const std::string steps = steps_text(column.choice.choice.steps);
    const bool field = column.source.kind == FieldSource::Kind::field;
    std::string text = yaml_value(column.source.text);
    if (field && steps.empty() && !column.choice.required) return text;
    text = (field ? "{field: " : "{metadata: ") + text;
    if (!steps.empty()) text += ", convert: " + steps;
    if (column.choice.required) text += ", required: true";
    return text + "}";
}

void write_sink(const Proposal& proposal, std::ostream& out) {
    out << "    sink:\n      table: " << yaml_value(proposal.table) << "\n";
    if (!proposal.conflict_target.empty()) {
        out << "      mode: upsert\n      conflict_target: [";
        for (const std::string& name : proposal.conflict_target) {
            out << (&name == &proposal.conflict_target.front() ? "" : ", ") << yaml_value(name);
        }
        out << "]\n";
    }
    out << "      columns:\n";
    for (const ProposedColumn& column : proposal.columns) {
        out << "        " << yaml_text(column.name) << ": " << column_source(column) << "\n";
    }
}

}  // namespace

std::string table_ddl(const Proposal& proposal) {
    std::string text = "CREATE TABLE " + quoted_identifier(proposal.table) + " (";
    const char* between = "\n";
    for (const ProposedColumn& column : proposal.columns) {
        text += between + ("    " + quoted_identifier(column.name)) + " " +
                column.choice.choice.type + (column.choice.required ? " NOT NULL" : "");
        between = ",\n";
    }
    if (!proposal.conflict_target.empty()) {
        text += ",\n    PRIMARY KEY (";
        for (const std::string& name : proposal.conflict_target) {
            text += (&name == &proposal.conflict_target.front() ? "" : ", ") +
                    quoted_identifier(name);
        }
        text += ")";
    }
    return text + "\n);\n";
}

std::string proposal_text(const Proposal& proposal) {
    const SampledTopic& topic = proposal.topic;
    std::ostringstream out;
    write_head(proposal, out);
    out << "\ngroup: " << yaml_value(topic.group)
        << "   # a new one: it has read nothing of the topic\n";
    write_kafka(topic, out);
    out << "\npostgres:\n  dsn: ${ONCEWARD_DSN}             # host=... dbname=... user=...\n";
    if (proposal.shape.registry) {
        out << "\nregistries:\n  - name: main\n    urls: [" << yaml_value(topic.registry) << "]\n";
    }
    out << "\ntopics:\n  - name: " << yaml_value(topic.name) << "\n";
    write_format(proposal, out);
    out << "    start: earliest                # what the topic holds now is read too; or latest\n";
    write_key(proposal.key, out);
    out << "    ledger:\n      retention: 24h               # how long a key is remembered\n";
    write_sink(proposal, out);
    return out.str();
}

}  // namespace onceward
