#include "consumer/protobuf_wire.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "consumer/utf8.h"

namespace onceward {
namespace {

namespace proto = google::protobuf;
using Field = proto::FieldDescriptor;
using Input = proto::io::CodedInputStream;

enum class WireType : std::uint8_t { varint, fixed64, bytes, group, group_end, fixed32 };
constexpr int wire_bits = 3;
constexpr int deepest_group = 100;  // as Protobuf's own parser

WireType wire_type(const Field& field) {
    switch (field.type()) {
        case Field::TYPE_DOUBLE:
        case Field::TYPE_FIXED64:
        case Field::TYPE_SFIXED64: return WireType::fixed64;
        case Field::TYPE_FLOAT:
        case Field::TYPE_FIXED32:
        case Field::TYPE_SFIXED32: return WireType::fixed32;
        case Field::TYPE_STRING:
        case Field::TYPE_BYTES:
        case Field::TYPE_MESSAGE: return WireType::bytes;
        case Field::TYPE_GROUP: return WireType::group;
        case Field::TYPE_INT64:
        case Field::TYPE_UINT64:
        case Field::TYPE_INT32:
        case Field::TYPE_BOOL:
        case Field::TYPE_UINT32:
        case Field::TYPE_ENUM:
        case Field::TYPE_SINT32:
        case Field::TYPE_SINT64: break;
    }
    return WireType::varint;
}

Value of_kind(Value::Kind kind, std::string_view text = {}) {
    Value value;
    value.kind = kind;
    value.text = text;
    return value;
}

Value integer_value(std::int64_t integer, Value::Kind kind = Value::Kind::integer) {
    Value value = of_kind(kind);
    value.integer = integer;
    return value;
}

Value natural_value(std::uint64_t natural) {
    Value value = of_kind(Value::Kind::natural);
    value.natural = natural;
    return value;
}

Value real_value(double real) {
    Value value = of_kind(Value::Kind::real);
    value.real = real;
    return value;
}

Value boolean_value(bool boolean) {
    Value value = of_kind(Value::Kind::boolean);
    value.boolean = boolean;
    return value;
}

std::int64_t zigzag(std::uint64_t bits) {
    return static_cast<std::int64_t>(bits >> 1) ^ -static_cast<std::int64_t>(bits & 1);
}

// Of a scalar that is no string: what its bits say. Narrow integers are cut, as by any parser.
Value value_of(const Field& field, std::uint64_t bits) {
    const auto low = static_cast<std::uint32_t>(bits);
    switch (field.type()) {
        case Field::TYPE_DOUBLE: return real_value(std::bit_cast<double>(bits));
        case Field::TYPE_FLOAT: return real_value(std::bit_cast<float>(low));
        case Field::TYPE_INT64:
        case Field::TYPE_SFIXED64: return integer_value(static_cast<std::int64_t>(bits));
        case Field::TYPE_UINT64:
        case Field::TYPE_FIXED64: return natural_value(bits);
        case Field::TYPE_INT32:
        case Field::TYPE_SFIXED32: return integer_value(static_cast<std::int32_t>(low));
        case Field::TYPE_UINT32:
        case Field::TYPE_FIXED32: return integer_value(low);
        case Field::TYPE_SINT64: return integer_value(zigzag(bits));
        case Field::TYPE_SINT32: return integer_value(static_cast<std::int32_t>(zigzag(low)));
        case Field::TYPE_BOOL: return boolean_value(bits != 0);
        case Field::TYPE_ENUM: {
            const auto number = static_cast<std::int32_t>(low);
            const auto* name = field.enum_type()->FindValueByNumber(number);
            // A number that this schema does not name yet stays a number.
            if (name == nullptr) return integer_value(number);
            return of_kind(Value::Kind::text, name->name());
        }
        case Field::TYPE_STRING:
        case Field::TYPE_BYTES:
        case Field::TYPE_MESSAGE:
        case Field::TYPE_GROUP: break;
    }
    return {};
}

bool can_be_read(const Field& field) {
    return field.file()->syntax() == proto::FileDescriptor::SYNTAX_PROTO3 && !field.is_repeated() &&
           field.real_containing_oneof() == nullptr;
}

}  // namespace

struct ProtobufWire::State {
    // A wanted field: a message that is walked into, or a scalar.
    struct Slot {
        const Field* field = nullptr;
        WireType type = WireType::varint;
        int inner = -1;  // the message's place in `nodes`
        bool seen = false;
        Value value;
    };
    // A message with wanted fields; `nodes[0]` is the payload.
    struct Node {
        std::vector<Slot> slots;
    };
    // Where a path's value is, with what the message around it is a slot of.
    struct Place {
        int node = 0;
        int slot = 0;
    };
    struct Wanted {
        std::vector<Place> parents;
        Place leaf;
        std::optional<Place> nanos;  // a timestamp, with `leaf` its seconds
    };
    std::vector<Node> nodes{1};
    std::vector<Wanted> wanted;

    Place place(int node, const Field* field);
    bool walk(Input& input, std::string_view payload, int node);
    bool take(Input& input, std::string_view payload, Place place);
    static bool skip(Input& input, std::uint32_t tag, int depth);
    bool set(const Wanted& from, Value& value) const;
    const Slot& at(Place place) const {
        return nodes[static_cast<std::size_t>(place.node)]
            .slots[static_cast<std::size_t>(place.slot)];
    }
};

ProtobufWire::ProtobufWire(std::unique_ptr<State> state) : state_(std::move(state)) {}
ProtobufWire::~ProtobufWire() = default;

ProtobufWire::State::Place ProtobufWire::State::place(int node, const Field* field) {
    const auto index = static_cast<std::size_t>(node);
    std::size_t slot = 0;
    while (slot < nodes[index].slots.size() && nodes[index].slots[slot].field != field) ++slot;
    if (slot == nodes[index].slots.size()) {
        Slot& made = nodes[index].slots.emplace_back();
        made.field = field;
        made.type = wire_type(*field);
        if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
            nodes[index].slots[slot].inner = static_cast<int>(nodes.size());
            nodes.emplace_back();
        }
    }
    return {node, static_cast<int>(slot)};
}

std::unique_ptr<ProtobufWire> ProtobufWire::make(const std::vector<ProtobufPath>& paths) {
    auto state = std::make_unique<State>();
    for (const ProtobufPath& path : paths) {
        if (path.shape == PathShape::list || path.shape == PathShape::object) return nullptr;
        State::Wanted wanted;
        std::vector<const Field*> fields = path.parents;
        fields.push_back(path.leaf);
        if (path.wrapped != nullptr) fields.push_back(path.wrapped);
        if (!std::ranges::all_of(fields, [](const Field* f) { return can_be_read(*f); })) {
            return nullptr;
        }
        int node = 0;
        for (const Field* field : fields) {
            if (field != fields.back()) {
                wanted.parents.push_back(state->place(node, field));
                node = state->at(wanted.parents.back()).inner;
            } else {
                wanted.leaf = state->place(node, field);
            }
        }
        if (path.shape == PathShape::timestamp) wanted.nanos = state->place(node, path.nanos);
        state->wanted.push_back(std::move(wanted));
    }
    return std::unique_ptr<ProtobufWire>(new ProtobufWire(std::move(state)));
}

bool ProtobufWire::State::skip(Input& input, std::uint32_t tag, int depth) {
    std::uint64_t bits = 0;
    switch (tag & ((1U << wire_bits) - 1)) {
        case static_cast<std::uint32_t>(WireType::varint): return input.ReadVarint64(&bits);
        case static_cast<std::uint32_t>(WireType::fixed64): return input.Skip(8);
        case static_cast<std::uint32_t>(WireType::fixed32): return input.Skip(4);
        case static_cast<std::uint32_t>(WireType::bytes): {
            int length = 0;
            return input.ReadVarintSizeAsInt(&length) && input.Skip(length);
        }
        case static_cast<std::uint32_t>(WireType::group):
            if (depth == deepest_group) return false;
            while (const std::uint32_t inner = input.ReadTag()) {
                if ((inner & ((1U << wire_bits) - 1)) ==
                    static_cast<std::uint32_t>(WireType::group_end)) {
                    return inner >> wire_bits == tag >> wire_bits;
                }
                if (inner >> wire_bits == 0 || !skip(input, inner, depth + 1)) return false;
            }
            return false;
        default: return false;  // what has no meaning, and a group's end without its beginning
    }
}

// Of a field that comes again the last one counts; messages are merged.
bool ProtobufWire::State::take(Input& input, std::string_view payload, Place place) {
    Slot& slot =
        nodes[static_cast<std::size_t>(place.node)].slots[static_cast<std::size_t>(place.slot)];
    slot.seen = true;
    std::uint64_t bits = 0;
    std::uint32_t low = 0;
    switch (slot.type) {
        case WireType::varint:
            if (!input.ReadVarint64(&bits)) return false;
            break;
        case WireType::fixed64:
            if (!input.ReadLittleEndian64(&bits)) return false;
            break;
        case WireType::fixed32:
            if (!input.ReadLittleEndian32(&low)) return false;
            bits = low;
            break;
        case WireType::bytes: {
            int length = 0;
            if (!input.ReadVarintSizeAsInt(&length)) return false;
            if (slot.inner >= 0) {
                if (length > input.BytesUntilLimit()) return false;
                const Input::Limit limit = input.PushLimit(length);
                if (!walk(input, payload, slot.inner)) return false;
                input.PopLimit(limit);
                return true;
            }
            const auto begin = static_cast<std::size_t>(input.CurrentPosition());
            if (!input.Skip(length)) return false;
            slot.value.text = payload.substr(begin, static_cast<std::size_t>(length));
            if (slot.field->type() == Field::TYPE_BYTES) {
                slot.value.kind = Value::Kind::bytes;
                return true;
            }
            slot.value.kind = Value::Kind::text;
            return is_utf8(slot.value.text);
        }
        case WireType::group:
        case WireType::group_end: return false;
    }
    slot.value = value_of(*slot.field, bits);
    return true;
}

bool ProtobufWire::State::walk(Input& input, std::string_view payload, int node) {
    while (const std::uint32_t tag = input.ReadTag()) {
        const auto number = static_cast<int>(tag >> wire_bits);
        if (number == 0) return false;
        const std::vector<Slot>& slots = nodes[static_cast<std::size_t>(node)].slots;
        const auto found = std::ranges::find_if(
            slots, [&](const Slot& slot) { return slot.field->number() == number; });
        // A field in another form than its type's is an unknown one.
        const bool wanted = found != slots.end() && static_cast<std::uint32_t>(found->type) ==
                                                        (tag & ((1U << wire_bits) - 1));
        const bool read =
            wanted ? take(input, payload, {node, static_cast<int>(found - slots.begin())})
                   : skip(input, tag, 0);
        if (!read) return false;
    }
    return input.ConsumedEntireMessage();
}

bool ProtobufWire::State::set(const Wanted& from, Value& value) const {
    constexpr std::int64_t first = -62'135'596'800;  // 0001-01-01, as timestamp.proto limits it
    constexpr std::int64_t last = 253'402'300'799;   // 9999-12-31
    value = {};
    for (const Place parent : from.parents) {
        if (!at(parent).seen) return true;
    }
    const Slot& leaf = at(from.leaf);
    if (from.nanos) {
        const std::int64_t seconds = leaf.seen ? leaf.value.integer : 0;
        const std::int64_t nanos = at(*from.nanos).seen ? at(*from.nanos).value.integer : 0;
        if (seconds < first || seconds > last || nanos < 0 || nanos > 999'999'999) return false;
        value = integer_value(seconds * 1'000'000 + nanos / 1'000, Value::Kind::timestamp);
        return true;
    }
    if (leaf.seen) {
        value = leaf.value;
    } else if (!leaf.field->has_presence()) {
        // Without presence a default value cannot be told from an unset one, and counts as there.
        value = value_of(*leaf.field, 0);
        if (leaf.field->type() == Field::TYPE_STRING) value.kind = Value::Kind::text;
        if (leaf.field->type() == Field::TYPE_BYTES) value.kind = Value::Kind::bytes;
    }
    return true;
}

bool ProtobufWire::read(std::string_view payload, std::span<Value> values) {
    if (payload.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return false;
    for (State::Node& node : state_->nodes) {
        for (State::Slot& slot : node.slots) slot.seen = false;
    }
    Input input(reinterpret_cast<const std::uint8_t*>(payload.data()),
                static_cast<int>(payload.size()));
    input.PushLimit(static_cast<int>(payload.size()));
    if (!state_->walk(input, payload, 0)) return false;
    for (std::size_t i = 0; i < state_->wanted.size(); ++i) {
        if (!state_->set(state_->wanted[i], values[i])) return false;
    }
    return true;
}

}  // namespace onceward
