#pragma once
// What is around a row: the envelopes of Kafka Connect and Debezium, for every reader that finds
// its values by a JsonTrie. A plain value; belongs to one decoder.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "consumer/decode/decoder.h"
#include "consumer/decode/json_trie.h"

namespace onceward {

class EnvelopeReader {
  public:
    // Adds to the trie what the row's paths and the envelope need. Throws FormatError for a path
    // that is not a JSON pointer; for a change event `event:` may precede it.
    EnvelopeReader(Envelope envelope, const std::vector<std::string>& paths, JsonTrie& trie);

    bool bare() const { return envelope_ == Envelope::none; }
    // How many slots the trie fills: one for each path if the payload is bare.
    std::size_t slots() const { return bare() ? paths_ : payload_ + 4; }
    // The slots for which it only matters whether there is an object, null, or nothing.
    bool only_seen(std::uint32_t slot) const {
        return !bare() && (slot == payload_ || slot == after_);
    }
    // Fills the row's values from the slots. REQUIRES: not bare.
    Decoded unwrap(std::span<const Value> slots, std::span<Value> values) const;

    // The slot of the schema that a Connect message carries. REQUIRES: not bare.
    std::uint32_t schema() const { return schema_; }
    // Where the row's values are below that schema's root. For a change event: first those of the
    // row after the change, then those of the row before it.
    std::vector<std::string> pointers(const std::vector<std::string>& paths) const;

  private:
    void want_change_event(const std::vector<std::string>& paths, JsonTrie& trie) const;
    Decoded change(std::span<const Value> slots, std::span<Value> values) const;

    Envelope envelope_;
    std::uint32_t paths_ = 0;
    // Slots: the row's values [0, n), for a change event those of the row before it [n, 2n), then
    // the envelope's own members.
    std::uint32_t payload_ = 0;
    std::uint32_t after_ = 0;
    std::uint32_t operation_ = 0;
    std::uint32_t schema_ = 0;
};

// Whether Debezium wrote this in place of a large value that an update left as it was. Pure.
bool is_unavailable(const Value& value);

}  // namespace onceward
