#pragma once
// Where a topic's messages are published, and as what. Plain values.

#include <string>
#include <vector>

#include "dedup/message/value.h"
#include "sinks/columns/column_options.h"

namespace onceward {

struct OutboxOptions {
    std::string topic;  // where the records go
    // The record's key; records of one key stay in their order. A message without it has none.
    FieldSource key{FieldSource::Kind::record_key, ""};
    // What is published: bytes and text as they are, everything else as JSON.
    FieldSource payload{FieldSource::Kind::payload, ""};
    // In its place: a JSON object with these members.
    std::vector<ColumnOptions> fields;
    std::vector<ColumnOptions> headers;
    // The most bytes of key, payload and headers together; a message that makes more is rejected. A
    // record that is larger than its topic takes (`max.message.bytes`) holds a key up instead.
    std::size_t record_max = 1'000'000;
    // Whether the records continue their messages' traces: then `traceparent` and `tracestate` are
    // the outbox's to write. Not an option: it is so if the process has traces.
    bool traces = false;
};

// What a message must bring, in the order in which the sink reads it.
inline std::vector<FieldSource> sources_of(const OutboxOptions& options) {
    std::vector<FieldSource> sources{options.key};
    if (options.fields.empty()) sources.push_back(options.payload);
    for (const auto* members : {&options.fields, &options.headers}) {
        for (const ColumnOptions& member : *members) sources.push_back(member.source);
    }
    return sources;
}

}  // namespace onceward
