// JSON payloads: frame, envelope, pointers.

#include <algorithm>

#include "consumer/decode/confluent_frame.h"
#include "consumer/decode/decoders.h"
#include "consumer/decode/json_trie.h"
#include "consumer/decode/json_walk.h"
#include "dedup/base/expects.h"

namespace onceward {
namespace {

class JsonDecoder final : public Decoder {
  public:
    JsonDecoder(const FormatOptions& options, const std::vector<std::string>& paths);
    Decoded decode(const Record& record, std::span<Value> values,
                   std::pmr::memory_resource& arena) override;

  private:
    void want(JsonTrie::NodeId from, const std::vector<std::string>& paths, std::uint32_t first);
    void want_change_event(const std::vector<std::string>& paths);
    Decoded unwrap(std::span<Value> values) const;
    Decoded change(std::span<Value> values) const;

    Framing framing_;
    Envelope envelope_;
    JsonTrie trie_;
    JsonWalk walk_;
    // The row's values [0, n), of a change event those of the row before it [n, 2n), then the
    // envelope's own members.
    std::vector<Value> slots_;
    std::uint32_t payload_ = 0;
    std::uint32_t after_ = 0;
    std::uint32_t operation_ = 0;
};

JsonDecoder::JsonDecoder(const FormatOptions& options, const std::vector<std::string>& paths)
    : framing_(options.framing), envelope_(options.envelope) {
    const auto count = static_cast<std::uint32_t>(paths.size());
    payload_ = 2 * count;
    after_ = payload_ + 1;
    operation_ = payload_ + 2;
    slots_.resize(payload_ + 3);
    switch (envelope_) {
        case Envelope::none: want(JsonTrie::root, paths, 0); return;
        case Envelope::connect:
            trie_.add(JsonTrie::root, "/payload", payload_);
            want(trie_.child(JsonTrie::root, "payload"), paths, 0);
            return;
        case Envelope::debezium: want_change_event(paths); return;
    }
}

void JsonDecoder::want(JsonTrie::NodeId from, const std::vector<std::string>& paths,
                       std::uint32_t first) {
    for (std::uint32_t i = 0; i < paths.size(); ++i) {
        trie_.add(from, paths[i], first + i);
    }
}

void JsonDecoder::want_change_event(const std::vector<std::string>& paths) {
    trie_.add(JsonTrie::root, "/payload", payload_);
    trie_.add(JsonTrie::root, "/after", after_);
    trie_.add(JsonTrie::root, "/op", operation_);
    const JsonTrie::NodeId before = trie_.child(JsonTrie::root, "before");
    const JsonTrie::NodeId after = trie_.child(JsonTrie::root, "after");
    want(after, paths, 0);
    want(before, paths, static_cast<std::uint32_t>(paths.size()));
    // Inside a Connect envelope the same event is one level deeper; both places share their nodes.
    const JsonTrie::NodeId payload = trie_.child(JsonTrie::root, "payload");
    trie_.link(payload, "before", before);
    trie_.link(payload, "after", after);
    trie_.link(payload, "op", trie_.child(JsonTrie::root, "op"));
}

Decoded JsonDecoder::decode(const Record& record, std::span<Value> values,
                            std::pmr::memory_resource& arena) {
    expects(record.payload.has_value(), "a record that is decoded has a payload");
    std::string_view document = *record.payload;
    if (framing_ == Framing::confluent) {
        const ConfluentFrame unframed = read_confluent_frame(record, MessageIndex::none);
        if (unframed.fault != nullptr) {
            return undecodable(unframed.fault);
        }
        document = unframed.payload;
    }
    const bool bare = envelope_ == Envelope::none;
    const std::span<Value> slots = bare ? values : std::span<Value>(slots_);
    std::fill(slots.begin(), slots.end(), Value{});
    if (std::optional<std::string> fault = walk_.run(document, trie_, slots, arena)) {
        return undecodable("the payload is not the JSON that was expected: " + *fault);
    }
    if (!bare) return unwrap(values);
    // A number or a list has none of the wanted fields: its row would be one of NULLs.
    const bool nothing = std::ranges::all_of(
        values, [](const Value& value) { return value.kind == Value::Kind::absent; });
    const std::size_t first = document.find_first_not_of(" \t\r\n");
    if (nothing && !values.empty() && first != std::string_view::npos && document[first] != '{') {
        return undecodable("the payload is not a JSON object and has none of the wanted fields");
    }
    return {};
}

Decoded JsonDecoder::unwrap(std::span<Value> values) const {
    const Value::Kind payload = slots_[payload_].kind;
    if (payload == Value::Kind::null) {
        std::fill(values.begin(), values.end(), Value{});
        Decoded decoded;
        decoded.tombstone = true;
        return decoded;
    }
    if (envelope_ == Envelope::debezium) {
        return change(values);
    }
    if (payload == Value::Kind::absent) {
        return undecodable(
            "there is no `payload` member, so this is not a Connect envelope; is `envelope: none` "
            "right?");
    }
    std::copy_n(slots_.begin(), values.size(), values.begin());
    return {};
}

Decoded JsonDecoder::change(std::span<Value> values) const {
    const Value& operation = slots_[operation_];
    if (operation.kind != Value::Kind::text) {
        return undecodable(
            "there is no text member `op`, so this is not a Debezium change event; is it unwrapped "
            "already (`envelope: none`)?");
    }
    Decoded decoded;
    if (operation.text == "d") {
        decoded.operation = Operation::remove;
        std::copy_n(slots_.begin() + static_cast<std::ptrdiff_t>(values.size()), values.size(),
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
    if (slots_[after_].kind != Value::Kind::json) {
        return undecodable("the change event has no row `after`");
    }
    std::copy_n(slots_.begin(), values.size(), values.begin());
    return decoded;
}

}  // namespace

std::unique_ptr<Decoder> make_json_decoder(const FormatOptions& options,
                                           const std::vector<std::string>& paths) {
    return std::make_unique<JsonDecoder>(options, paths);
}

}  // namespace onceward
