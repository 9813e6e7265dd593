#pragma once
// `onceward init --from-topic`: what a sample of a topic, or its schema, leads to. Everything that
// was guessed or could not be decided has a note. Pure but for the schemas that are asked for.

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/proposal/column_choice.h"
#include "cli/proposal/key_choice.h"
#include "cli/proposal/payload_shape.h"

namespace onceward {

// What the sample was taken from.
struct SampledTopic {
    std::string name;
    std::string bootstrap_servers;
    std::string registry{};  // its address; '' if none was named
    // librdkafka's properties as the configuration writes them: variables stand for secrets.
    std::vector<std::pair<std::string, std::string>> properties{};
    std::string group;  // one that has committed nothing for the topic
};

struct ProposedColumn {
    std::string name;
    FieldSource source;
    ColumnChoice choice;
};

struct Proposal {
    SampledTopic topic;
    PayloadShape shape;
    KeyChoice key;
    std::string table;
    std::vector<ProposedColumn> columns;
    std::vector<std::string> conflict_target{};  // columns; empty: rows are inserted
    std::size_t records = 0;
    bool skips_tombstones = false;
    std::vector<std::string> notes;  // sentences
};

// `schemas`: the registry's, which waits for each answer; null if none was named. `latest`: the
// schema that it has for the topic, or null. Throws FormatError if a schema cannot be used.
Proposal propose(SampledTopic topic, std::span<const Record> records,
                 const std::shared_ptr<SchemaSource>& schemas, const WrittenSchema* latest);

// The statement that makes the table; it ends with a line break.
std::string table_ddl(const Proposal& proposal);

// The configuration, with the notes and the statement as comments at its head.
std::string proposal_text(const Proposal& proposal);

}  // namespace onceward
