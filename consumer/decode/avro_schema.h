#pragma once
// An Avro schema (specification 1.12) as a graph of nodes, to read what was written with it. Types
// that refer to themselves are cycles in it. Immutable; thread-safe.
// What a reader's schema alone needs is left out: defaults, aliases, order, documentation.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "consumer/decode/connect/connect_type.h"
#include "consumer/decode/schema_source.h"

namespace onceward {

class AvroSchema {
  public:
    using NodeId = std::uint32_t;

    enum class Type : std::uint8_t {
        null,
        boolean,
        int32,
        int64,
        float32,
        float64,
        bytes,
        string,
        fixed,        // `size` bytes
        enumeration,  // `names` are its symbols
        record,       // `names` are its fields, of the types in `children`
        array,        // children[0]: its items' type
        map,          // children[0]: its values' type
        choice,       // a union; `children` are its branches, none of which is a union
    };
    // A logical type that does not fit its type is ignored, as the specification requires.
    enum class Logical : std::uint8_t {
        none,
        decimal,  // bytes or fixed, with `scale`
        uuid,     // fixed of 16 bytes; as a string it is a plain string
        date,
        time_millis,
        time_micros,
        timestamp_millis,
        timestamp_micros,
        timestamp_nanos,
        local_timestamp_millis,
        local_timestamp_micros,
        local_timestamp_nanos,
        duration,
    };
    struct Node {
        Type type = Type::null;
        Logical logical = Logical::none;
        std::size_t size = 0;
        std::size_t scale = 0;
        // What `connect.name` says if no logical type is set; `plain` if it does not fit its type.
        ConnectType connect = ConnectType::plain;
        std::vector<std::string> names{};
        std::vector<NodeId> children{};
    };

    // Schemas and values that nest deeper are refused, before the stack ends.
    static constexpr int max_depth = 500;

    // Throws FormatError, whose text says what is wrong with the schema.
    explicit AvroSchema(const WrittenSchema& written);

    const Node& node(NodeId id) const { return nodes_[id]; }
    NodeId root() const { return root_; }

  private:
    std::vector<Node> nodes_;
    NodeId root_ = 0;
};

}  // namespace onceward
