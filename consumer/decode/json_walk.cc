#include "consumer/decode/json_walk.h"

#include "consumer/decode/json_reader.h"
#include "dedup/message/message.h"

namespace onceward {
namespace {

// One document's visitor: sets the slots of what the trie wants.
struct Wanted {
    using Place = JsonTrie::Node*;  // null if nothing is wanted there

    JsonTrie& trie;
    std::span<Value> slots;
    std::pmr::memory_resource& arena;
    std::string_view document;  // the caller's bytes
    const JsonBuffer& buffer;
    std::uint64_t walk;
    std::string fault{};

    // A view of the padded copy as a view of what outlives it.
    std::string_view lasting(std::string_view text) const {
        return document.substr(static_cast<std::size_t>(text.data() - buffer.padded.data()),
                               text.size());
    }

    void set(Place node, const Value& value) {
        for (const std::uint32_t slot : node->slots) {
            slots[slot] = value;
        }
    }

    void set(Place node, Value::Kind kind, std::string_view text) {
        set(node, Value{kind, {}, text});
    }

    bool literal(Place node, std::string_view token) {
        if (node == nullptr) return true;
        Value value;
        switch (token.front()) {
            case 't':
            case 'f':
                value.kind = Value::Kind::boolean;
                value.boolean = token.front() == 't';
                break;
            case 'n': value.kind = Value::Kind::null; break;
            default: value.kind = Value::Kind::number; value.text = lasting(token);
        }
        set(node, value);
        return true;
    }

    void text(Place node, std::string_view text, bool escaped) {
        if (node == nullptr) return;
        set(node, Value::Kind::text, escaped ? keep(arena, text) : lasting(text));
    }

    void open(Place, char) {}

    bool member(Place object, std::string_view name, Place& value) {
        if (object == nullptr) return true;
        value = trie.find(*object, name);
        if (value == nullptr) return true;
        // DANGER: of two members with one name readers differ in which they take; a key read from
        // the wrong one is another key.
        if (value->walk == walk) {
            fault = "the member `" + value->pointer + "` is there twice";
            return false;
        }
        value->walk = walk;
        return true;
    }

    Place element(Place array, std::uint64_t position) {
        return array == nullptr ? nullptr : trie.find(*array, position);
    }

    template <class Raw>
    bool close(Place node, char, const Raw& raw) {
        if (node != nullptr && !node->slots.empty()) set(node, Value::Kind::json, lasting(raw()));
        return true;
    }
};

}  // namespace

struct JsonWalk::State {
    JsonBuffer buffer;
    std::uint64_t walks = 0;
};

JsonWalk::JsonWalk() : state_(std::make_unique<State>()) {}
JsonWalk::~JsonWalk() = default;

std::optional<std::string> JsonWalk::run(std::string_view document, JsonTrie& trie,
                                         std::span<Value> slots, std::pmr::memory_resource& arena) {
    JsonBuffer& buffer = state_->buffer;
    Wanted wanted{trie, slots, arena, document, buffer, ++state_->walks};
    return JsonReader<Wanted>(buffer, wanted).run(document, &trie.node(JsonTrie::root));
}

}  // namespace onceward
