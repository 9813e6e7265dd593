#include "consumer/decode/json_walk.h"

#include <simdjson.h>

#include <cstring>

#include "consumer/decode/json_text.h"
#include "dedup/message/message.h"

namespace onceward {
namespace {

namespace ondemand = simdjson::ondemand;
using Node = JsonTrie::Node;

// One document's walk. A step returns false where the document is bad; `fault` then says why.
struct Walker {
    JsonTrie& trie;
    std::span<Value> slots;
    std::pmr::memory_resource& arena;
    std::string_view document;  // the caller's bytes
    const char* copy;           // the same bytes, padded for simdjson
    std::uint64_t walk;
    std::string fault{};

    bool fail(std::string reason) {
        fault = std::move(reason);
        return false;
    }
    bool fail(simdjson::error_code error) { return fail(simdjson::error_message(error)); }

    // A view of the padded copy as a view of what outlives it.
    std::string_view lasting(std::string_view text) const {
        return document.substr(static_cast<std::size_t>(text.data() - copy), text.size());
    }

    void set(const Node& node, const Value& value) {
        for (const std::uint32_t slot : node.slots) {
            slots[slot] = value;
        }
    }

    void set(const Node& node, Value::Kind kind, std::string_view text) {
        Value value;
        value.kind = kind;
        value.text = text;
        set(node, value);
    }

    bool enter(Node& node) {
        // DANGER: of two members with one name readers differ in which they take; a key read from
        // the wrong one is another key.
        if (node.walk == walk) {
            return fail("the member `" + node.pointer + "` is there twice");
        }
        node.walk = walk;
        return true;
    }

    bool literal(std::string_view token, const Node* node);
    template <class Source>
    bool string(Source& source, std::string_view token, const Node* node);
    bool value(ondemand::value& value, Node* node, int depth);
    bool object(ondemand::object object, Node* node, int depth);
    bool array(ondemand::array array, Node* node, int depth);
    bool name(ondemand::field& field, std::string_view& result);
    bool root(ondemand::document& json);
    bool root_scalar(ondemand::document& json, std::string_view token);
};

bool Walker::literal(std::string_view token, const Node* node) {
    Value value;
    if (token == "true" || token == "false") {
        value.kind = Value::Kind::boolean;
        value.boolean = token == "true";
    } else if (token == "null") {
        value.kind = Value::Kind::null;
    } else if (is_json_number(token)) {
        value.kind = Value::Kind::number;
        value.text = lasting(token);
    } else {
        return fail("a value is not a string, number, true, false, null, object or array");
    }
    if (node != nullptr) {
        set(*node, value);
    }
    return true;
}

template <class Source>
bool Walker::string(Source& source, std::string_view token, const Node* node) {
    if (token.size() < 2 || token.back() != '"') {
        return fail("a string does not end");
    }
    const std::string_view inner = token.substr(1, token.size() - 2);
    if (std::memchr(inner.data(), '\\', inner.size()) == nullptr) {
        // DANGER: simdjson takes an unread string before a colon for a member's name and skips what
        // follows, so `["x":1}` would pass as JSON.
        ondemand::raw_json_string passed;
        if (const auto error = source.get_raw_json_string().get(passed)) {
            return fail(error);
        }
        if (node != nullptr) {
            set(*node, Value::Kind::text, lasting(inner));
        }
        return true;
    }
    std::string_view unescaped;
    if (const auto error = source.get_string().get(unescaped)) {
        return fail(error);
    }
    if (node != nullptr) {
        set(*node, Value::Kind::text, keep(arena, unescaped));
    }
    return true;
}

bool Walker::name(ondemand::field& field, std::string_view& result) {
    const char* const begin = field.key().raw();
    const char* end = begin;
    while (*end != '"' && *end != '\\') {  // simdjson has seen the closing quote
        ++end;
    }
    if (*end == '"') {
        result = {begin, static_cast<std::size_t>(end - begin)};
        return true;
    }
    const auto error = field.unescaped_key().get(result);
    return error == simdjson::SUCCESS || fail(error);
}

bool Walker::object(ondemand::object object, Node* node, int depth) {
    for (auto step : object) {
        ondemand::field field;
        if (const auto error = std::move(step).get(field)) {
            return fail(error);
        }
        std::string_view member;
        if (!name(field, member)) {
            return false;
        }
        Node* const child = node == nullptr ? nullptr : trie.find(*node, member);
        if ((child != nullptr && !enter(*child)) || !value(field.value(), child, depth)) {
            return false;
        }
    }
    return true;
}

bool Walker::array(ondemand::array array, Node* node, int depth) {
    std::uint64_t position = 0;
    for (auto step : array) {
        ondemand::value element;
        if (const auto error = std::move(step).get(element)) {
            return fail(error);
        }
        Node* const child = node == nullptr ? nullptr : trie.find(*node, position);
        if (!value(element, child, depth)) {
            return false;
        }
        ++position;
    }
    return true;
}

bool Walker::value(ondemand::value& value, Node* node, int depth) {
    const std::string_view token = trim_json_space(value.raw_json_token());
    const char first = token.empty() ? '\0' : token.front();
    if (first == '"') {
        return string(value, token, node);
    }
    if (first != '{' && first != '[') {
        return literal(token, node);
    }
    // DANGER: the walk recurses; a document of 10,000 open brackets would end the process.
    if (depth == JsonWalk::depth_max) {
        return fail("objects and arrays are nested deeper than " +
                    std::to_string(JsonWalk::depth_max));
    }
    if (first == '{') {
        ondemand::object object_value;
        if (const auto error = value.get_object().get(object_value)) {
            return fail(error);
        }
        if (!object(object_value, node, depth + 1)) {
            return false;
        }
    } else {
        ondemand::array array_value;
        if (const auto error = value.get_array().get(array_value)) {
            return fail(error);
        }
        if (!array(array_value, node, depth + 1)) {
            return false;
        }
    }
    if (node != nullptr && !node->slots.empty()) {
        // The walk is at the token after the container, or at the document's end.
        const char* end = nullptr;
        if (value.current_location().get(end) != simdjson::SUCCESS) {
            end = copy + document.size();
        }
        const std::string_view raw(token.data(), static_cast<std::size_t>(end - token.data()));
        set(*node, Value::Kind::json, lasting(trim_json_space(raw)));
    }
    return true;
}

bool Walker::root_scalar(ondemand::document& json, std::string_view token) {
    if (token.size() != trim_json_space({copy, document.size()}).size()) {
        return fail("something follows the document");
    }
    const Node& node = trie.node(JsonTrie::root);
    return token.front() == '"' ? string(json, token, &node) : literal(token, &node);
}

bool Walker::root(ondemand::document& json) {
    std::string_view token;
    if (const auto error = json.raw_json_token().get(token)) {
        return fail(error);
    }
    token = trim_json_space(token);
    if (token.empty()) {
        return fail("it is empty");
    }
    if (token.front() != '{' && token.front() != '[') {
        return root_scalar(json, token);
    }
    ondemand::value whole;
    if (const auto error = json.get_value().get(whole)) {
        return fail(error);
    }
    Node& node = trie.node(JsonTrie::root);
    if (!value(whole, &node, 0)) {
        return false;
    }
    const char* rest = nullptr;
    if (json.current_location().get(rest) == simdjson::SUCCESS) {
        return fail("something follows the document");
    }
    return true;
}

}  // namespace

struct JsonWalk::State {
    ondemand::parser parser;
    std::string padded;  // grows to the largest document; never shrinks
    std::uint64_t walks = 0;
};

JsonWalk::JsonWalk() : state_(std::make_unique<State>()) {}
JsonWalk::~JsonWalk() = default;

std::optional<std::string> JsonWalk::run(std::string_view document, JsonTrie& trie,
                                         std::span<Value> slots, std::pmr::memory_resource& arena) {
    if (document.starts_with("\xef\xbb\xbf")) {  // some versions of simdjson pass over it
        return "it begins with a byte order mark";
    }
    std::string& padded = state_->padded;
    const std::size_t capacity = document.size() + simdjson::SIMDJSON_PADDING;
    if (padded.size() < capacity) {
        padded.resize(capacity);
    }
    // DANGER: simdjson reads past the end; librdkafka's payloads have nothing readable there.
    std::memcpy(padded.data(), document.data(), document.size());
    std::memset(padded.data() + document.size(), 0, simdjson::SIMDJSON_PADDING);

    ondemand::document json;
    const auto error =
        state_->parser.iterate(padded.data(), document.size(), padded.size()).get(json);
    if (error != simdjson::SUCCESS) {
        return simdjson::error_message(error);
    }
    Walker walker{trie, slots, arena, document, padded.data(), ++state_->walks};
    if (!walker.root(json)) {
        return std::move(walker.fault);
    }
    return std::nullopt;
}

}  // namespace onceward
