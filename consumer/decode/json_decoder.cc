// JSON payloads: envelope, pointers.

#include <algorithm>

#include "consumer/decode/connect/connect_reader.h"
#include "consumer/decode/connect/connect_schemas.h"
#include "consumer/decode/decoder.h"
#include "consumer/decode/envelope.h"
#include "consumer/decode/json_trie.h"
#include "dedup/base/json_reader.h"

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

    // Turns a view of the padded copy into one of the caller's bytes, which outlive it.
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
        if (token == "null") {
            set(node, Value::Kind::null, {});
        } else if (token == "true" || token == "false") {
            set(node, {.kind = Value::Kind::boolean, .boolean = token == "true"});
        } else {
            set(node, Value::Kind::number, lasting(token));
        }
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
        // DANGER: if two members have one name, readers differ in which of them they take, and a
        // key that is read from the wrong one is another key.
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

class JsonDecoder final : public Decoder {
  public:
    JsonDecoder(const FormatOptions& options, const std::vector<std::string>& paths)
        : Decoder(options),
          envelope_(options.envelope, paths, trie_),
          schemas_(envelope_.pointers(paths)),
          slots_(envelope_.slots()),
          paths_(paths) {}

  private:
    Decoded read(const ConfluentFrame& frame, std::span<Value> values,
                 std::pmr::memory_resource& arena) override {
        const std::string_view document = frame.payload;
        const bool bare = envelope_.bare();
        const std::span<Value> slots = bare ? values : std::span<Value>(slots_);
        std::fill(slots.begin(), slots.end(), Value{});
        if (std::optional<std::string> fault =
                bare ? walk(document, slots, arena) : walk_wrapped(document, arena)) {
            return undecodable("the payload is not the JSON that was expected: " + *fault);
        }
        if (!bare) return unwrapped(values, arena);
        // A number or a list has none of the wanted fields: its row would have only NULLs.
        const bool nothing = std::ranges::all_of(
            values, [](const Value& value) { return value.kind == Value::Kind::absent; });
        const std::size_t first = document.find_first_not_of(" \t\r\n");
        if (nothing && !values.empty() && first != std::string_view::npos &&
            document[first] != '{') {
            return undecodable(
                "the payload is not a JSON object and has none of the wanted fields");
        }
        return {};
    }

    // Most of a message is its schema, and usually one that came before. Such a schema is compared
    // and not read, which costs a tenth.
    std::optional<std::string> walk_wrapped(std::string_view document,
                                            std::pmr::memory_resource& arena) {
        const std::string_view rest = schemas_.after_known(document);
        if (rest.empty()) return walk(document, slots_, arena);
        auto* const copy = static_cast<char*>(arena.allocate(rest.size() + 1, 1));
        copy[0] = '{';
        std::ranges::copy(rest, copy + 1);
        // Marks `schema` as met: a second one is a fault.
        trie_.node(trie_.child(JsonTrie::root, "schema")).walk = walks_ + 1;
        slots_[envelope_.schema()] = {Value::Kind::json, {}, schemas_.latest()};
        return walk({copy, rest.size() + 1}, slots_, arena);
    }

    Decoded unwrapped(std::span<Value> values, std::pmr::memory_resource& arena) {
        Decoded decoded = envelope_.unwrap(slots_, values);
        const Value& schema = slots_[envelope_.schema()];
        if (decoded.rejection || decoded.tombstone || schema.kind != Value::Kind::json) {
            return decoded;
        }
        const ConnectSchemas::Known& known = schemas_.get(schema.text);
        if (const char* fault = known.schema.fault()) {
            return undecodable(std::string("the message's schema cannot be used: ") + fault);
        }
        const std::size_t first = decoded.operation == Operation::remove ? values.size() : 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            const ConnectSchema::Node* node = known.nodes[first + i];
            if (node == nullptr) continue;
            if (const char* fault = connect_.apply(known.schema, *node, values[i], arena)) {
                return undecodable("the value at `" + paths_[i] + "` " + fault +
                                   ", which the message's schema says that it is");
            }
        }
        return decoded;
    }

    // Fills `slots` (all absent before). The whole document is checked, wanted or not, so that what
    // is rejected does not depend on the mapping. A wanted member that is there twice is a fault:
    // which one counts depends on the reader. Views point into `document` and, if a string had
    // escapes, into the arena. Returns what is wrong, without any of the payload's text.
    std::optional<std::string> walk(std::string_view document, std::span<Value> slots,
                                    std::pmr::memory_resource& arena) {
        Wanted wanted{trie_, slots, arena, document, buffer_, ++walks_};
        return JsonReader<Wanted>(buffer_, wanted).run(document, &trie_.node(JsonTrie::root));
    }

    JsonTrie trie_;
    EnvelopeReader envelope_;
    ConnectSchemas schemas_;
    ConnectReader connect_;
    JsonBuffer buffer_;
    std::uint64_t walks_ = 0;
    std::vector<Value> slots_;
    std::vector<std::string> paths_;
};

}  // namespace

std::unique_ptr<Decoder> make_json_decoder(const FormatOptions& options,
                                           const std::vector<std::string>& paths) {
    return std::make_unique<JsonDecoder>(options, paths);
}

}  // namespace onceward
