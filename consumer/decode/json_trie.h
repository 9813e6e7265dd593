#pragma once
// Wanted JSON pointers (RFC 6901) as a tree, so that one walk over a document finds all of them.
// Belongs to one decoder and its thread: the nodes remember what the walk in progress has met.
// A pointer that breaks RFC 6901 throws FormatError.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "consumer/decode/decoder.h"
#include "consumer/decode/json/json_pointer.h"

namespace onceward {

class JsonTrie {
  public:
    using NodeId = std::uint32_t;
    struct Child {
        std::string name;  // a member's name
        // The same as an element's position, if it can be one.
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
    // Asks for the value at `pointer`, which begins at `from`, in `slot`.
    void add(NodeId from, std::string_view pointer, std::uint32_t slot) {
        if (!pointer.empty() && pointer.front() != '/') {
            throw FormatError(
                "`" + std::string(pointer) +
                "` is not a JSON pointer, because it does not begin with `/`; write `/" +
                std::string(pointer) + "`");
        }
        NodeId current = from;
        std::string_view rest = pointer;
        while (!rest.empty()) {
            const std::string_view step = take_pointer_step(rest);
            current = child(current, unescape(step, pointer));
            nodes_[current].pointer = pointer.substr(0, pointer.size() - rest.size());
        }
        nodes_[current].slots.push_back(slot);
    }

    // The node of one member below `parent`; made if need be.
    NodeId child(NodeId parent, std::string name) {
        for (const Child& known : nodes_[parent].children) {
            if (known.name == name) return known.node;
        }
        const auto made = static_cast<NodeId>(nodes_.size());
        nodes_.emplace_back().pointer = nodes_[parent].pointer + "/" + name;
        link(parent, std::move(name), made);
        return made;
    }

    // Makes a member of `parent` lead to an existing node.
    void link(NodeId parent, std::string name, NodeId node) {
        const std::optional<std::uint64_t> index = element_position(name);
        nodes_[parent].has_indexes |= index.has_value();
        nodes_[parent].children.push_back({std::move(name), index, node});
    }

    Node& node(NodeId id) { return nodes_[id]; }
    // Returns nullptr if nothing is wanted below that member or element.
    Node* find(Node& parent, std::string_view name) {
        const std::size_t count = parent.children.size();
        for (std::size_t i = 0, at = parent.guess; i < count; ++i, ++at) {
            if (at >= count) at = 0;
            if (parent.children[at].name == name) {
                parent.guess = at + 1;
                return &nodes_[parent.children[at].node];
            }
        }
        return nullptr;
    }

    Node* find(Node& parent, std::uint64_t index) {
        if (!parent.has_indexes) return nullptr;
        for (const Child& child : parent.children) {
            if (child.index == index) return &nodes_[child.node];
        }
        return nullptr;
    }

  private:
    static std::string unescape(std::string_view step, std::string_view pointer) {
        std::string name;
        if (!unescape_pointer_step(step, name)) {
            throw FormatError("the JSON pointer `" + std::string(pointer) +
                              "` has a `~` that is neither `~0` (a ~) nor `~1` (a /)");
        }
        return name;
    }

    std::vector<Node> nodes_;
};

}  // namespace onceward
