#include "consumer/decode/protobuf_wire.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <optional>

#include "consumer/decode/protobuf_values.h"
#include "consumer/decode/utf8.h"

namespace onceward {
namespace {

namespace proto = google::protobuf;
using Field = proto::FieldDescriptor;
using Input = proto::io::CodedInputStream;

enum class WireType : std::uint8_t { varint, fixed64, bytes, group, group_end, fixed32 };
constexpr int wire_bits = 3;
constexpr int deepest = 100;    // messages and groups in each other, as Protobuf's own parser
constexpr int longest_tag = 5;  // bytes, likewise

// It may be none of them, as the bits have room for two more.
WireType wire_type(std::uint32_t tag) {
    return static_cast<WireType>(tag & ((1U << wire_bits) - 1));
}
int number_of(std::uint32_t tag) { return static_cast<int>(tag >> wire_bits); }

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

std::int64_t zigzag(std::uint64_t bits) {
    return static_cast<std::int64_t>(bits >> 1) ^ -static_cast<std::int64_t>(bits & 1);
}

Value::Kind kind_of_bytes(const Field& field) {
    return field.type() == Field::TYPE_BYTES ? Value::Kind::bytes : Value::Kind::text;
}

// Returns the value that a scalar's bits encode; strings are handled elsewhere. Narrow integers are
// truncated, as in any parser.
Value value_of(const Field& field, std::uint64_t bits) {
    const auto low = static_cast<std::uint32_t>(bits);
    switch (field.type()) {
        case Field::TYPE_DOUBLE: return protobuf::real(std::bit_cast<double>(bits));
        case Field::TYPE_FLOAT: return protobuf::real(std::bit_cast<float>(low));
        case Field::TYPE_INT64:
        case Field::TYPE_SFIXED64: return protobuf::integer(static_cast<std::int64_t>(bits));
        case Field::TYPE_UINT64:
        case Field::TYPE_FIXED64: return protobuf::natural(bits);
        case Field::TYPE_INT32:
        case Field::TYPE_SFIXED32: return protobuf::integer(static_cast<std::int32_t>(low));
        case Field::TYPE_UINT32:
        case Field::TYPE_FIXED32: return protobuf::integer(low);
        case Field::TYPE_SINT64: return protobuf::integer(zigzag(bits));
        case Field::TYPE_SINT32: return protobuf::integer(static_cast<std::int32_t>(zigzag(low)));
        case Field::TYPE_BOOL: return protobuf::boolean(bits != 0);
        case Field::TYPE_ENUM: {
            const auto number = static_cast<std::int32_t>(low);
            const auto* name = field.enum_type()->FindValueByNumber(number);
            // A number that this schema does not name yet stays a number.
            if (name == nullptr) return protobuf::integer(number);
            return protobuf::of_kind(Value::Kind::text, name->name());
        }
        case Field::TYPE_STRING:
        case Field::TYPE_BYTES: return protobuf::of_kind(kind_of_bytes(field));  // the default
        case Field::TYPE_MESSAGE:
        case Field::TYPE_GROUP: break;
    }
    return {};
}

bool can_be_read(const Field& field) {
    return !field.is_repeated() && field.real_containing_oneof() == nullptr;
}

}  // namespace

struct ProtobufWire::State {
    // A field whose bytes have a form that is checked, wanted or not: a text, a message, or numbers
    // in one piece.
    struct Checked {
        const Field* field = nullptr;
        WireType type = WireType::bytes;  // of one of the numbers
        std::size_t inner = 0;            // the message's place in `types`
    };
    using Type = std::vector<Checked>;  // by number
    // A wanted field: a message that is walked into, or a scalar.
    struct Slot {
        const Field* field = nullptr;
        WireType type = WireType::varint;
        std::size_t inner = 0;  // the message's place in `nodes`
        bool seen = false;
        Value value;
    };
    // A message with wanted fields; `nodes[0]` is the payload.
    struct Node {
        std::size_t type = 0;
        std::vector<Slot> slots;
    };
    // Where a path's value is, with what the message around it is a slot of.
    struct Place {
        std::size_t node = 0;
        std::size_t slot = 0;
    };
    struct Wanted {
        std::vector<Place> parents;
        Place leaf;
        std::optional<Place> nanos;  // a timestamp, with `leaf` its seconds
    };
    std::map<const proto::Descriptor*, std::size_t> type_of;
    std::vector<Type> types;
    std::vector<Node> nodes;
    std::vector<Wanted> wanted;
    std::string_view payload;

    // False where anything below is not of proto3.
    bool add_type(const proto::Descriptor& type);
    std::size_t add_node(const proto::Descriptor& type);
    Place place(std::size_t node, const Field* field);
    // `node` is null if nothing in the message is wanted.
    bool walk(Input& input, std::size_t type, Node* node, int depth);
    bool enter(Input& input, int length, std::size_t type, Node* node, int depth);
    bool take(Input& input, Slot& slot, int depth);
    bool check(Input& input, const Checked& checked, int depth);
    bool bytes(Input& input, std::string_view& text) const;
    static bool skip(Input& input, std::uint32_t tag, int depth);
    bool set(const Wanted& from, Value& value) const;
    const Slot& at(Place place) const { return nodes[place.node].slots[place.slot]; }
};

ProtobufWire::ProtobufWire(std::unique_ptr<State> state) : state_(std::move(state)) {}
ProtobufWire::~ProtobufWire() = default;

bool ProtobufWire::State::add_type(const proto::Descriptor& type) {
    const auto [found, is_new] = type_of.try_emplace(&type, types.size());
    if (!is_new) return true;
    const std::size_t place = found->second;
    types.emplace_back();
    if (type.file()->syntax() != proto::FileDescriptor::SYNTAX_PROTO3) return false;
    Type checked;
    for (int i = 0; i < type.field_count(); ++i) {
        const Field& field = *type.field(i);
        const bool message = field.cpp_type() == Field::CPPTYPE_MESSAGE;
        if (message && !add_type(*field.message_type())) return false;
        if (message || field.type() == Field::TYPE_STRING || field.is_packable()) {
            checked.push_back(
                {&field, wire_type(field), message ? type_of.at(field.message_type()) : 0});
        }
    }
    std::ranges::sort(checked, {}, [](const Checked& entry) { return entry.field->number(); });
    types[place] = std::move(checked);
    return true;
}

std::size_t ProtobufWire::State::add_node(const proto::Descriptor& type) {
    nodes.push_back({type_of.at(&type), {}});
    return nodes.size() - 1;
}

ProtobufWire::State::Place ProtobufWire::State::place(std::size_t node, const Field* field) {
    const std::vector<Slot>& slots = nodes[node].slots;
    const auto found = std::ranges::find(slots, field, &Slot::field);
    const auto at = static_cast<std::size_t>(found - slots.begin());
    if (found == slots.end()) {
        Slot made;
        made.field = field;
        made.type = wire_type(*field);
        if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
            made.inner = add_node(*field->message_type());
        }
        nodes[node].slots.push_back(made);
    }
    return {node, at};
}

std::unique_ptr<ProtobufWire> ProtobufWire::make(const proto::Descriptor& type,
                                                 const std::vector<ProtobufPath>& paths) {
    auto state = std::make_unique<State>();
    if (!state->add_type(type)) return nullptr;
    state->add_node(type);
    for (const ProtobufPath& path : paths) {
        if (path.shape == PathShape::list || path.shape == PathShape::object) return nullptr;
        State::Wanted wanted;
        std::vector<const Field*> fields = path.parents;
        fields.push_back(path.leaf);
        if (path.wrapped != nullptr) fields.push_back(path.wrapped);
        if (!std::ranges::all_of(fields, [](const Field* f) { return can_be_read(*f); })) {
            return nullptr;
        }
        std::size_t node = 0;
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
    int length = 0;
    switch (wire_type(tag)) {
        case WireType::varint: return input.ReadVarint64(&bits);
        case WireType::fixed64: return input.Skip(8);
        case WireType::fixed32: return input.Skip(4);
        case WireType::bytes: return input.ReadVarintSizeAsInt(&length) && input.Skip(length);
        case WireType::group:
            if (depth == deepest) return false;
            while (const std::uint32_t inner = input.ReadTag()) {
                if (wire_type(inner) == WireType::group_end) {
                    return number_of(inner) == number_of(tag);
                }
                if (number_of(inner) == 0 || !skip(input, inner, depth + 1)) return false;
            }
            return false;
        case WireType::group_end: return false;  // without its beginning
    }
    return false;
}

bool ProtobufWire::State::bytes(Input& input, std::string_view& text) const {
    int length = 0;
    if (!input.ReadVarintSizeAsInt(&length)) return false;
    const auto begin = static_cast<std::size_t>(input.CurrentPosition());
    if (!input.Skip(length)) return false;
    text = payload.substr(begin, static_cast<std::size_t>(length));
    return true;
}

bool ProtobufWire::State::enter(Input& input, int length, std::size_t type, Node* node, int depth) {
    if (depth == deepest || length > input.BytesUntilLimit()) return false;
    const Input::Limit limit = input.PushLimit(length);
    if (!walk(input, type, node, depth + 1)) return false;
    input.PopLimit(limit);
    return true;
}

// So that what is rejected does not depend on the mapping.
bool ProtobufWire::State::check(Input& input, const Checked& checked, int depth) {
    std::string_view text;
    if (checked.field->type() == Field::TYPE_STRING) return bytes(input, text) && is_utf8(text);
    int length = 0;
    if (!input.ReadVarintSizeAsInt(&length)) return false;
    if (checked.type == WireType::bytes) return enter(input, length, checked.inner, nullptr, depth);
    if (length > input.BytesUntilLimit()) return false;
    const Input::Limit limit = input.PushLimit(length);
    while (input.BytesUntilLimit() > 0) {
        if (!skip(input, static_cast<std::uint32_t>(checked.type), depth)) return false;
    }
    input.PopLimit(limit);
    return true;
}

// If a field occurs several times, the last one counts; messages are merged.
bool ProtobufWire::State::take(Input& input, Slot& slot, int depth) {
    slot.seen = true;
    std::uint64_t bits = 0;
    std::uint32_t low = 0;
    int length = 0;
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
        case WireType::bytes:
            if (slot.inner != 0) {
                Node& inner = nodes[slot.inner];
                return input.ReadVarintSizeAsInt(&length) &&
                       enter(input, length, inner.type, &inner, depth);
            }
            if (!bytes(input, slot.value.text)) return false;
            slot.value.kind = kind_of_bytes(*slot.field);
            return slot.value.kind == Value::Kind::bytes || is_utf8(slot.value.text);
        case WireType::group:
        case WireType::group_end: return false;
    }
    slot.value = value_of(*slot.field, bits);
    return true;
}

bool ProtobufWire::State::walk(Input& input, std::size_t type, Node* node, int depth) {
    for (int begin = input.CurrentPosition(); const std::uint32_t tag = input.ReadTag();
         begin = input.CurrentPosition()) {
        const int number = number_of(tag);
        if (number == 0 || input.CurrentPosition() - begin > longest_tag) return false;
        // A field in another form than its type's is an unknown one.
        const auto is_it = [&](const auto& entry, WireType wanted) {
            return entry.field->number() == number && wire_type(tag) == wanted;
        };
        if (node != nullptr) {
            const auto slot = std::ranges::find_if(
                node->slots, [&](const Slot& entry) { return is_it(entry, entry.type); });
            if (slot != node->slots.end()) {
                if (!take(input, *slot, depth)) return false;
                continue;
            }
        }
        const auto checked = std::ranges::lower_bound(
            types[type], number, {}, [](const Checked& entry) { return entry.field->number(); });
        const bool checks = checked != types[type].end() && is_it(*checked, WireType::bytes);
        if (!(checks ? check(input, *checked, depth) : skip(input, tag, depth))) return false;
    }
    return input.ConsumedEntireMessage();
}

bool ProtobufWire::State::set(const Wanted& from, Value& value) const {
    value = {};
    for (const Place parent : from.parents) {
        if (!at(parent).seen) return true;
    }
    const Slot& leaf = at(from.leaf);
    if (from.nanos) {
        const auto time =
            protobuf::timestamp(leaf.seen ? leaf.value.integer : 0,
                                at(*from.nanos).seen ? at(*from.nanos).value.integer : 0);
        if (time) value = *time;
        return time.has_value();
    }
    if (leaf.seen) {
        value = leaf.value;
    } else if (!leaf.field->has_presence()) {
        // Without presence a default value looks like an unset one, and counts as present.
        value = value_of(*leaf.field, 0);
    }
    return true;
}

bool ProtobufWire::read(std::string_view payload, std::span<Value> values) {
    if (payload.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return false;
    for (State::Node& node : state_->nodes) {
        for (State::Slot& slot : node.slots) slot.seen = false;
    }
    state_->payload = payload;
    Input input(reinterpret_cast<const std::uint8_t*>(payload.data()),
                static_cast<int>(payload.size()));
    input.PushLimit(static_cast<int>(payload.size()));
    State::Node& root = state_->nodes.front();
    if (!state_->walk(input, root.type, &root, 0)) return false;
    for (std::size_t i = 0; i < state_->wanted.size(); ++i) {
        if (!state_->set(state_->wanted[i], values[i])) return false;
    }
    return true;
}

}  // namespace onceward
