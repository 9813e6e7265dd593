#include "consumer/decode/envelope.h"

#include <algorithm>

namespace onceward {
namespace {

void want(JsonTrie& trie, JsonTrie::NodeId from, const std::vector<std::string>& paths,
          std::uint32_t first) {
    for (std::uint32_t i = 0; i < paths.size(); ++i) {
        trie.add(from, paths[i], first + i);
    }
}

}  // namespace

EnvelopeReader::EnvelopeReader(Envelope envelope, const std::vector<std::string>& paths,
                               JsonTrie& trie)
    : envelope_(envelope),
      paths_(static_cast<std::uint32_t>(paths.size())),
      payload_(2 * paths_),
      after_(payload_ + 1),
      operation_(payload_ + 2) {
    switch (envelope_) {
        case Envelope::none: want(trie, JsonTrie::root, paths, 0); return;
        case Envelope::connect:
            trie.add(JsonTrie::root, "/payload", payload_);
            want(trie, trie.child(JsonTrie::root, "payload"), paths, 0);
            return;
        case Envelope::debezium: want_change_event(paths, trie); return;
    }
}

void EnvelopeReader::want_change_event(const std::vector<std::string>& paths,
                                       JsonTrie& trie) const {
    trie.add(JsonTrie::root, "/payload", payload_);
    trie.add(JsonTrie::root, "/after", after_);
    trie.add(JsonTrie::root, "/op", operation_);
    const JsonTrie::NodeId before = trie.child(JsonTrie::root, "before");
    const JsonTrie::NodeId after = trie.child(JsonTrie::root, "after");
    want(trie, after, paths, 0);
    want(trie, before, paths, paths_);
    // Inside a Connect envelope the same event is one level deeper; both places share their
    // nodes.
    const JsonTrie::NodeId payload = trie.child(JsonTrie::root, "payload");
    trie.link(payload, "before", before);
    trie.link(payload, "after", after);
    trie.link(payload, "op", trie.child(JsonTrie::root, "op"));
}

Decoded EnvelopeReader::unwrap(std::span<const Value> slots, std::span<Value> values) const {
    const Value::Kind payload = slots[payload_].kind;
    if (payload == Value::Kind::null) {
        std::fill(values.begin(), values.end(), Value{});
        return {std::nullopt, Operation::upsert, true};
    }
    if (envelope_ == Envelope::debezium) {
        return change(slots, values);
    }
    if (payload == Value::Kind::absent) {
        return undecodable(
            "there is no `payload` member, so this is not a Connect envelope; is "
            "`envelope: none` right?");
    }
    std::copy_n(slots.begin(), values.size(), values.begin());
    return {};
}

Decoded EnvelopeReader::change(std::span<const Value> slots, std::span<Value> values) const {
    const Value& operation = slots[operation_];
    if (operation.kind != Value::Kind::text) {
        return undecodable(
            "there is no text member `op`, so this is not a Debezium change event; is it "
            "unwrapped already (`envelope: none`)?");
    }
    Decoded decoded;
    if (operation.text == "d") {
        decoded.operation = Operation::remove;
        std::copy_n(slots.begin() + static_cast<std::ptrdiff_t>(values.size()), values.size(),
                    values.begin());
        return decoded;
    }
    if (operation.text == "t") {
        return undecodable("a Debezium truncate (`op` t) has no row; nothing was truncated");
    }
    if (operation.text == "m") {
        return undecodable("a Debezium logical message (`op` m) has no row");
    }
    if (operation.text != "c" && operation.text != "r" && operation.text != "u") {
        return undecodable("the change event's `op` is not c, r, u or d");
    }
    if (slots[after_].kind != Value::Kind::json) {
        return undecodable("the change event has no row `after`");
    }
    std::copy_n(slots.begin(), values.size(), values.begin());
    return decoded;
}

}  // namespace onceward
