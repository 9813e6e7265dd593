#pragma once
// Where a decoder asks for the schema that a message was written with: an interface, so that
// decoders need no network. Implementations are thread-safe, never block and throw nothing.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace onceward {

enum class SchemaLanguage : std::uint8_t { avro, protobuf, json };

// A schema as the registry stores it, with everything that it refers to. A plain value.
struct WrittenSchema {
    // A text that this schema, or one of its other references, imports under `name`: an Avro full
    // name, a Protobuf import path or a JSON Schema URI.
    struct Reference {
        std::string name;
        std::string text;
    };
    SchemaLanguage language = SchemaLanguage::avro;
    std::string text;
    // A reference comes before those that refer to it. Each name occurs once.
    std::vector<Reference> references;
};

// How a message names its schema: by the registry's number (wire format of byte 0), or by a GUID
// (the header `__value_schema_id`), 36 characters in lower case.
struct SchemaId {
    std::int32_t number = 0;
    std::string guid;  // empty: `number` counts
    friend auto operator<=>(const SchemaId&, const SchemaId&) = default;
};

// As people write it: `17`, or the GUID.
inline std::string id_text(const SchemaId& id) {
    return id.guid.empty() ? std::to_string(id.number) : id.guid;
}

struct SchemaAnswer {
    enum class State : std::uint8_t {
        known,    // `schema` is set
        pending,  // not known yet; a fetch is under way or will be tried again: ask later
        unknown,  // the registry has answered that it has no such schema
        refused,  // the registry has it, but it cannot be used: `reason`
    };
    State state = State::pending;
    std::shared_ptr<const WrittenSchema> schema{};
    // Why it is pending, unknown or refused, in a sentence without a full stop.
    std::string reason{};
};

class SchemaSource {
  public:
    virtual ~SchemaSource() = default;
    virtual SchemaAnswer find(const SchemaId& id) = 0;
};

}  // namespace onceward
