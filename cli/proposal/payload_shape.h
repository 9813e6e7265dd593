#pragma once
// How a sample's payloads are to be read: format, frame and envelope, and what their schemas say of
// the rows. Pure but for the schemas that it asks the source for.

#include <span>
#include <string>
#include <vector>

#include "cli/proposal/declared_fields.h"
#include "consumer/decode/format_options.h"
#include "consumer/decode/schema_source.h"
#include "dedup/message/message.h"

namespace onceward {

struct PayloadShape {
    FormatOptions options{};  // without a policy for tombstones
    bool registry = false;    // the payloads' schemas come from there
    // Each payload is a document with members. Else only the payload as a whole can become a
    // column.
    bool members = true;
    DeclaredRow declared{};
    // The members of the rows that the sample holds, in the order in which they came up.
    std::vector<std::string> names{};
    std::string evidence;            // why it is read so, a sentence
    std::vector<std::string> notes{};  // what was not decided, sentences
};

// `registry`: null if none was named. `latest`: the schema that the registry has for the topic; it
// counts if no record names one. Throws FormatError if a schema cannot be used.
PayloadShape shape_of(std::span<const Record> records, SchemaSource* registry,
                      const WrittenSchema* latest);

}  // namespace onceward
