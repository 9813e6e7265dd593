#pragma once
// Reads the wanted fields of a Protobuf payload from its wire format. It is worth having a second
// reader: 312 bytes with seven fields, five of them wanted, take 0.17 us, where a parser and its
// reflection take 0.98, and a worker with `log` passes 1.30 times as many of them (five pairs, 1.06
// to 1.42). The fuzz target protobuf_wire compares both readers. For proto3's scalars, wrappers and
// timestamps, at any depth. The other fields are checked as a parser checks them, so that what is
// rejected does not depend on the mapping, but their values are not kept. Source:
// protobuf.dev/programming-guides/encoding. Belongs to one thread; borrows the type.

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "consumer/decode/descriptor_pool.h"
#include "dedup/message/value.h"

namespace onceward {

class ProtobufWire {
  public:
    // Returns null if a path needs the parsed message (a list, a map, a message as JSON, a member
    // of a oneof), or if a message below `type` is a proto2 one (defaults, closed enums, groups).
    static std::unique_ptr<ProtobufWire> make(const google::protobuf::Descriptor& type,
                                              const std::vector<ProtobufPath>& paths);
    // Sets values[i] from path i, each as ProtobufFields does; texts are views of the payload, or
    // of the type's enum names, or in the arena. Returns false if the payload is broken, or a
    // timestamp is out of its range; the values then mean nothing, and a parser may say why.
    bool read(std::string_view payload, std::span<Value> values,
              std::pmr::memory_resource& arena);

  private:
    using Field = google::protobuf::FieldDescriptor;
    using Input = google::protobuf::io::CodedInputStream;
    using Wire = google::protobuf::internal::WireFormatLite;
    using WireType = Wire::WireType;

    ProtobufWire() = default;

    // A field whose bytes are checked even if it is not wanted: a text, a message, or packed
    // numbers.
    struct Checked {
        const Field* field = nullptr;
        WireType type = Wire::WIRETYPE_LENGTH_DELIMITED;  // of one of the numbers
        std::size_t inner = 0;                            // the message's place in `types_`
    };
    using Type = std::vector<Checked>;  // by number
    // A wanted field: a message that is walked into, or a scalar.
    struct Slot {
        const Field* field = nullptr;
        WireType type = Wire::WIRETYPE_VARINT;
        std::size_t inner = 0;  // the message's place in `nodes_`
        bool seen = false;
        Value value{};
    };
    // A message with wanted fields; `nodes_[0]` is the payload.
    struct Node {
        std::size_t type = 0;
        std::vector<Slot> slots;
    };
    // Where a value is: a slot of a node.
    struct Place {
        std::size_t node = 0;
        std::size_t slot = 0;
    };
    struct Wanted {
        std::vector<Place> parents;
        Place leaf;
        std::optional<Place> nanos;  // for a timestamp; `leaf` is its seconds
    };
    // Returns false if anything below is not of proto3.
    bool add_type(const google::protobuf::Descriptor& type);
    std::size_t add_node(const google::protobuf::Descriptor& type);
    Place place(std::size_t node, const Field* field);
    // `node` is null if nothing in the message is wanted.
    bool walk(Input& input, std::size_t type, Node* node);
    bool enter(Input& input, int length, std::size_t type, Node* node);
    bool take(Input& input, Slot& slot);
    bool check(Input& input, const Checked& checked);
    bool bytes(Input& input, std::string_view& text) const;
    static bool skip(Input& input, std::uint32_t tag);
    bool set(const Wanted& from, Value& value, std::pmr::memory_resource& arena) const;
    const Slot& at(Place place) const { return nodes_[place.node].slots[place.slot]; }

    std::map<const google::protobuf::Descriptor*, std::size_t> type_of_;
    std::vector<Type> types_;
    std::vector<Node> nodes_;
    std::vector<Wanted> wanted_;
    std::string_view payload_;
};

}  // namespace onceward
