#include "consumer/decode/envelope.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "consumer/decode/avro/logical_types.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

// A path of the event itself, such as `event:/source/lsn`, without the prefix.
std::optional<std::string_view> event_path(std::string_view path) {
    if (!path.starts_with(event_prefix)) return std::nullopt;
    return path.substr(event_prefix.size());
}

void want(JsonTrie& trie, JsonTrie::NodeId from, const std::vector<std::string>& paths,
          std::uint32_t first) {
    for (std::uint32_t i = 0; i < paths.size(); ++i) {
        trie.add(from, paths[i], first + i);
    }
}

// All forms that Debezium gives to the text, by the type of the column (3.5).
const std::set<std::string, std::less<>>& unavailable_texts() {
    static const auto* const forms = [] {
        const std::string text = "__debezium_unavailable_value";
        const std::string quoted = '"' + text + '"';
        std::string numbers;
        std::string dates;
        for (const char letter : text) {
            numbers += (numbers.empty() ? "" : ",") + std::to_string(static_cast<int>(letter));
            dates += dates.empty() ? "\"" : ",\"";
            const bool written = avro::append_date(letter, dates);
            dates += written ? "\"" : "";
        }
        return new std::set<std::string, std::less<>>{
            text,
            base64(text),
            "[" + quoted + "]",
            "[\"" + base64(text) + "\"]",
            "[" + numbers + "]",
            "[" + dates + "]",
            "[\"b68a35a7-17ad-35b3-af2a-ae46edb4545a\"]",  // the UUID, version 3, of the text
            "{" + quoted + ":" + quoted + "}",             // hstore
        };
    }();
    return *forms;
}

}  // namespace

EnvelopeReader::EnvelopeReader(Envelope envelope, const std::vector<std::string>& paths,
                               JsonTrie& trie)
    : envelope_(envelope),
      paths_(static_cast<std::uint32_t>(paths.size())),
      payload_(2 * paths_),
      after_(payload_ + 1),
      operation_(payload_ + 2),
      schema_(payload_ + 3) {
    switch (envelope_) {
        case Envelope::none: want(trie, JsonTrie::root, paths, 0); return;
        case Envelope::connect:
            trie.add(JsonTrie::root, "/payload", payload_);
            trie.add(JsonTrie::root, "/schema", schema_);
            want(trie, trie.child(JsonTrie::root, "payload"), paths, 0);
            return;
        case Envelope::debezium: want_change_event(paths, trie); return;
    }
}

void EnvelopeReader::want_change_event(const std::vector<std::string>& paths,
                                       JsonTrie& trie) const {
    trie.add(JsonTrie::root, "/payload", payload_);
    trie.add(JsonTrie::root, "/schema", schema_);
    trie.add(JsonTrie::root, "/after", after_);
    trie.add(JsonTrie::root, "/op", operation_);
    const JsonTrie::NodeId before = trie.child(JsonTrie::root, "before");
    const JsonTrie::NodeId after = trie.child(JsonTrie::root, "after");
    // Inside a Connect envelope the same event is one level deeper; both places share their
    // nodes.
    const JsonTrie::NodeId payload = trie.child(JsonTrie::root, "payload");
    std::set<std::string> shared{"before", "after", "op"};
    for (std::uint32_t i = 0; i < paths.size(); ++i) {
        const std::optional<std::string_view> event = event_path(paths[i]);
        if (!event) {
            trie.add(after, paths[i], i);
            trie.add(before, paths[i], paths_ + i);
            continue;
        }
        std::string_view rest = *event;
        std::string member;
        if (!rest.starts_with('/') || !unescape_pointer_step(take_pointer_step(rest), member)) {
            throw FormatError("`" + paths[i] +
                              "` is not a path of a change event, such as `event:/source/lsn`");
        }
        const JsonTrie::NodeId node = trie.child(JsonTrie::root, member);
        shared.insert(member);
        trie.add(node, rest, i);
        trie.add(node, rest, paths_ + i);
    }
    for (const std::string& member : shared) {
        trie.link(payload, member, trie.child(JsonTrie::root, member));
    }
}

std::vector<std::string> EnvelopeReader::pointers(const std::vector<std::string>& paths) const {
    if (envelope_ != Envelope::debezium) return paths;
    std::vector<std::string> pointers;
    for (const std::string row : {"/after", "/before"}) {
        for (const std::string& path : paths) {
            const std::optional<std::string_view> event = event_path(path);
            pointers.push_back(event ? std::string(*event) : row + path);
        }
    }
    return pointers;
}

Decoded EnvelopeReader::unwrap(std::span<const Value> slots, std::span<Value> values) const {
    const Value::Kind payload = slots[payload_].kind;
    if (payload == Value::Kind::null) {
        std::fill(values.begin(), values.end(), Value{});
        return {{}, Operation::upsert, true};
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
        decoded = undecodable("a Debezium truncate (`op` t) has no row; nothing was truncated");
        decoded.rowless = "truncate";
        return decoded;
    }
    if (operation.text == "m") {
        decoded = undecodable("a Debezium logical message (`op` m) has no row");
        decoded.rowless = "logical message";
        return decoded;
    }
    if (operation.text != "c" && operation.text != "r" && operation.text != "u") {
        return undecodable("the change event's `op` is not c, r, u or d");
    }
    if (slots[after_].kind != Value::Kind::json) {
        return undecodable("the change event has no row `after`");
    }
    std::copy_n(slots.begin(), values.size(), values.begin());
    // DANGER: if it were taken for a value, it would overwrite the one that the row has.
    if (std::ranges::any_of(values, is_unavailable)) {
        decoded.rejection = Rejection{
            Rejection::Kind::unmappable,
            "the change event lacks a large value that the update left as it was; "
            "`ALTER TABLE ... REPLICA IDENTITY FULL` in the source makes Debezium send it",
            {},
            1};
    }
    return decoded;
}

bool is_unavailable(const Value& value) {
    return (value.kind == Value::Kind::text || value.kind == Value::Kind::bytes ||
            value.kind == Value::Kind::json) &&
           unavailable_texts().contains(value.text);
}

}  // namespace onceward
