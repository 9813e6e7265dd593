#pragma once
// The schema of a Kafka Connect message, as its JSON converter writes it into each message, as a
// tree of nodes. Immutable; thread-safe. What only a writer needs is left out: defaults, versions,
// documentation, whether a value is optional.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "consumer/decode/connect/connect_type.h"

namespace onceward {

class ConnectSchema {
  public:
    using NodeId = std::uint32_t;
    enum class Shape : std::uint8_t { scalar, record, array, map };
    struct Node {
        Shape shape = Shape::scalar;
        ConnectType type = ConnectType::plain;
        std::int32_t scale = 0;  // of a decimal; may be negative
        std::vector<std::string> names{};
        // The types of a record's fields, in the order of `names`; for an array that of its items,
        // for a map that of its values.
        std::vector<NodeId> children{};
        // Whether it, or something within it, is not plain.
        bool changes = false;
    };

    // Far more than tables have columns.
    static constexpr std::size_t most_nodes = 100'000;

    // REQUIRES: `text` is JSON that nests no deeper than json_depth_max.
    explicit ConnectSchema(std::string_view text);

    // Why it cannot be used, as a literal; nullptr if it can.
    const char* fault() const { return fault_; }
    // The type of what a JSON pointer leads to; nullptr if the schema has none.
    const Node* find(std::string_view pointer) const;
    const Node& node(NodeId id) const { return nodes_[id]; }
    // The field of a record, or the value of a map; nullptr if there is none.
    const Node* member(const Node& of, std::string_view name) const;

  private:
    std::vector<Node> nodes_;
    const char* fault_ = nullptr;
};

}  // namespace onceward
