#include "cli/configuration/load.h"
#include "consumer/decode/decoder.h"
#include "dedup/base/expects.h"

namespace onceward {
namespace {

// The paths of the payload that a topic's key, fingerprint and sink read.
std::vector<std::string> wanted_paths(const TopicConfiguration& topic) {
    std::vector<std::string> paths;
    for (const KeySource& source : topic.key.sources) {
        // A preset's JSON pointer is not looked for in other formats.
        if (source.only_json && topic.format.format != Format::json) continue;
        if (source.kind == KeySource::Kind::field) paths.push_back(source.name);
    }
    if (topic.key.tenant && topic.key.tenant->kind == FieldSource::Kind::field) {
        paths.push_back(topic.key.tenant->text);
    }
    const FingerprintOptions& fingerprint = topic.key.fingerprint;
    paths.insert(paths.end(), fingerprint.fields.begin(), fingerprint.fields.end());
    const auto add_columns = [&](const std::vector<ColumnOptions>& columns) {
        for (const ColumnOptions& column : columns) {
            if (column.source.kind == FieldSource::Kind::field) paths.push_back(column.source.text);
        }
    };
    if (const auto* table = std::get_if<TableSinkOptions>(&topic.sink)) add_columns(table->columns);
    if (const auto* function = std::get_if<FunctionSinkOptions>(&topic.sink)) {
        add_columns(function->columns);
    }
    for (const OutboxOptions* outbox : outboxes_of(topic)) {
        for (const FieldSource& source : sources_of(*outbox)) {
            if (source.kind == FieldSource::Kind::field) paths.push_back(source.text);
        }
    }
    return paths;
}

}  // namespace

void check_setup(LoadResult& result) {
    expects(result.usable(), "the set-up of a usable configuration is checked");
    for (std::size_t index = 0; index < result.configuration.topics.size(); ++index) {
        const TopicConfiguration& topic = result.configuration.topics[index];
        try {
            make_decoder(topic.format, wanted_paths(topic));
        } catch (const FormatError& error) {
            result.findings.push_back({Finding::Severity::error, topic.mark,
                                       "topics[" + std::to_string(index) + "]", error.what()});
        }
    }
}

}  // namespace onceward
