#pragma once
// Wanted JSON pointers (RFC 6901) as a tree, so that one walk over a document finds all of them.
// Belongs to one decoder and its thread: the nodes remember what the walk in progress has met.
// A pointer that breaks RFC 6901 throws FormatError.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onceward {

class JsonTrie {
  public:
    using NodeId = std::uint32_t;
    struct Child {
        std::string name;  // a member's name
        // The same as an element's position, where it can be one.
        std::optional<std::uint64_t> index;
        NodeId node = 0;
    };
    struct Node {
        std::string pointer;               // for messages: the way here from the document's root
        std::vector<std::uint32_t> slots;  // where the value found here goes
        std::vector<Child> children;
        bool has_indexes = false;
        // The child that probably comes next: documents repeat their order of members.
        std::size_t guess = 0;
        std::uint64_t walk = 0;  // the walk that met this node last
    };

    static constexpr NodeId root = 0;

    JsonTrie() { nodes_.emplace_back(); }
    // Wants what `pointer` says, beginning at `from`, in `slot`.
    void add(NodeId from, std::string_view pointer, std::uint32_t slot);
    // The node of one member below `parent`; made if need be.
    NodeId child(NodeId parent, std::string name);
    // Lets a member of `parent` lead to a node that is there already.
    void link(NodeId parent, std::string name, NodeId node);

    Node& node(NodeId id) { return nodes_[id]; }
    // nullptr where nothing is wanted below that member or element.
    Node* find(Node& parent, std::string_view name);
    Node* find(Node& parent, std::uint64_t index);

  private:
    std::vector<Node> nodes_;
};

}  // namespace onceward
