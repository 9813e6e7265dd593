#include "consumer/decode/json_trie.h"

#include <charconv>

#include "consumer/decode/decoder.h"

namespace onceward {
namespace {

// RFC 6901: digits without a leading zero.
std::optional<std::uint64_t> element_position(std::string_view name) {
    if (name.empty() || (name.size() > 1 && name.front() == '0')) {
        return std::nullopt;
    }
    std::uint64_t position = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), position);
    if (error != std::errc{} || end != name.data() + name.size()) {
        return std::nullopt;
    }
    return position;
}

std::string unescape(std::string_view step, std::string_view pointer) {
    std::string name;
    for (std::size_t i = 0; i < step.size(); ++i) {
        if (step[i] != '~') {
            name += step[i];
            continue;
        }
        const char escaped = i + 1 < step.size() ? step[i + 1] : ' ';
        if (escaped != '0' && escaped != '1') {
            throw FormatError("the JSON pointer `" + std::string(pointer) +
                              "` has a `~` that is neither `~0` (a ~) nor `~1` (a /)");
        }
        name += escaped == '0' ? '~' : '/';
        ++i;
    }
    return name;
}

}  // namespace

void JsonTrie::add(NodeId from, std::string_view pointer, std::uint32_t slot) {
    if (!pointer.empty() && pointer.front() != '/') {
        throw FormatError("`" + std::string(pointer) +
                          "` is not a JSON pointer, because it does not begin with `/`; write `/" +
                          std::string(pointer) + "`");
    }
    NodeId current = from;
    std::string_view rest = pointer;
    while (!rest.empty()) {
        rest.remove_prefix(1);
        const std::string_view step = rest.substr(0, rest.find('/'));
        rest.remove_prefix(step.size());
        current = child(current, unescape(step, pointer));
        nodes_[current].pointer = pointer.substr(0, pointer.size() - rest.size());
    }
    nodes_[current].slots.push_back(slot);
}

JsonTrie::NodeId JsonTrie::child(NodeId parent, std::string name) {
    for (const Child& known : nodes_[parent].children) {
        if (known.name == name) {
            return known.node;
        }
    }
    const auto made = static_cast<NodeId>(nodes_.size());
    nodes_.emplace_back().pointer = nodes_[parent].pointer + "/" + name;
    link(parent, std::move(name), made);
    return made;
}

void JsonTrie::link(NodeId parent, std::string name, NodeId node) {
    const std::optional<std::uint64_t> index = element_position(name);
    nodes_[parent].has_indexes |= index.has_value();
    nodes_[parent].children.push_back({std::move(name), index, node});
}

JsonTrie::Node* JsonTrie::find(Node& parent, std::string_view name) {
    const std::size_t count = parent.children.size();
    for (std::size_t i = 0, at = parent.guess; i < count; ++i, ++at) {
        if (at >= count) {
            at = 0;
        }
        if (parent.children[at].name == name) {
            parent.guess = at + 1;
            return &nodes_[parent.children[at].node];
        }
    }
    return nullptr;
}

JsonTrie::Node* JsonTrie::find(Node& parent, std::uint64_t index) {
    if (!parent.has_indexes) {
        return nullptr;
    }
    for (const Child& child : parent.children) {
        if (child.index == index) {
            return &nodes_[child.node];
        }
    }
    return nullptr;
}

}  // namespace onceward
