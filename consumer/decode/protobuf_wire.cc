#include "consumer/decode/protobuf_wire.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "consumer/decode/decoder.h"

namespace onceward {
namespace {

namespace proto = google::protobuf;
using Field = proto::FieldDescriptor;
using Wire = proto::internal::WireFormatLite;

constexpr int longest_tag = 5;  // bytes, as Protobuf's own parser

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
        case Field::TYPE_SFIXED64: return integer_value(static_cast<std::int64_t>(bits));
        case Field::TYPE_UINT64:
        case Field::TYPE_FIXED64: return protobuf::natural(bits);
        case Field::TYPE_INT32:
        case Field::TYPE_SFIXED32: return integer_value(static_cast<std::int32_t>(low));
        case Field::TYPE_UINT32:
        case Field::TYPE_FIXED32: return integer_value(low);
        case Field::TYPE_SINT64: return integer_value(Wire::ZigZagDecode64(bits));
        case Field::TYPE_SINT32: return integer_value(Wire::ZigZagDecode32(low));
        case Field::TYPE_BOOL: return protobuf::boolean(bits != 0);
        case Field::TYPE_ENUM: return protobuf::enumerated(field, static_cast<std::int32_t>(low));
        case Field::TYPE_STRING:
        case Field::TYPE_BYTES: return protobuf::of_kind(kind_of_bytes(field));  // the default
        case Field::TYPE_MESSAGE:
        case Field::TYPE_GROUP: break;
    }
    return {};
}

Wire::WireType wire_type(const Field& field) {
    return Wire::WireTypeForFieldType(static_cast<Wire::FieldType>(field.type()));
}

bool can_be_read(const Field* field) {
    return !field->is_repeated() && field->real_containing_oneof() == nullptr;
}

}  // namespace

bool ProtobufWire::add_type(const proto::Descriptor& type) {
    const auto [found, is_new] = type_of_.try_emplace(&type, types_.size());
    if (!is_new) return true;
    const std::size_t place = found->second;
    types_.emplace_back();
    if (type.file()->syntax() != proto::FileDescriptor::SYNTAX_PROTO3) return false;
    Type checked;
    for (int i = 0; i < type.field_count(); ++i) {
        const Field& field = *type.field(i);
        const bool message = field.cpp_type() == Field::CPPTYPE_MESSAGE;
        if (message && !add_type(*field.message_type())) return false;
        if (message || field.type() == Field::TYPE_STRING || field.is_packable()) {
            checked.push_back(
                {&field, wire_type(field), message ? type_of_.at(field.message_type()) : 0});
        }
    }
    std::ranges::sort(checked, {}, [](const Checked& entry) { return entry.field->number(); });
    types_[place] = std::move(checked);
    return true;
}

std::size_t ProtobufWire::add_node(const proto::Descriptor& type) {
    nodes_.push_back({type_of_.at(&type), {}});
    return nodes_.size() - 1;
}

ProtobufWire::Place ProtobufWire::place(std::size_t node, const Field* field) {
    const std::vector<Slot>& slots = nodes_[node].slots;
    const auto found = std::ranges::find(slots, field, &Slot::field);
    const auto at = static_cast<std::size_t>(found - slots.begin());
    if (found == slots.end()) {
        Slot made{.field = field, .type = wire_type(*field)};
        if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
            made.inner = add_node(*field->message_type());
        }
        nodes_[node].slots.push_back(made);
    }
    return {node, at};
}

std::unique_ptr<ProtobufWire> ProtobufWire::make(const proto::Descriptor& type,
                                                 const std::vector<ProtobufPath>& paths) {
    auto made = std::unique_ptr<ProtobufWire>(new ProtobufWire);
    if (!made->add_type(type)) return nullptr;
    made->add_node(type);
    for (const ProtobufPath& path : paths) {
        if (path.shape == PathShape::list || path.shape == PathShape::object) return nullptr;
        Wanted wanted;
        std::vector<const Field*> fields = path.parents;
        fields.push_back(path.leaf);
        if (path.wrapped != nullptr) fields.push_back(path.wrapped);
        if (!std::ranges::all_of(fields, can_be_read)) return nullptr;
        std::size_t node = 0;
        for (const Field* field : fields) {
            if (field != fields.back()) {
                wanted.parents.push_back(made->place(node, field));
                node = made->at(wanted.parents.back()).inner;
            } else {
                wanted.leaf = made->place(node, field);
            }
        }
        if (path.shape == PathShape::timestamp) wanted.nanos = made->place(node, path.nanos);
        made->wanted_.push_back(std::move(wanted));
    }
    return made;
}

bool ProtobufWire::skip(Input& input, std::uint32_t tag) {
    std::uint64_t bits = 0;
    int length = 0;
    switch (Wire::GetTagWireType(tag)) {
        case Wire::WIRETYPE_VARINT: return input.ReadVarint64(&bits);
        case Wire::WIRETYPE_FIXED64: return input.Skip(8);
        case Wire::WIRETYPE_FIXED32: return input.Skip(4);
        case Wire::WIRETYPE_LENGTH_DELIMITED:
            return input.ReadVarintSizeAsInt(&length) && input.Skip(length);
        case Wire::WIRETYPE_START_GROUP:
            if (!input.IncrementRecursionDepth()) return false;
            while (const std::uint32_t inner = input.ReadTag()) {
                if (Wire::GetTagWireType(inner) == Wire::WIRETYPE_END_GROUP) {
                    input.DecrementRecursionDepth();
                    return Wire::GetTagFieldNumber(inner) == Wire::GetTagFieldNumber(tag);
                }
                if (Wire::GetTagFieldNumber(inner) == 0 || !skip(input, inner)) return false;
            }
            return false;
        case Wire::WIRETYPE_END_GROUP: return false;  // without its beginning
    }
    return false;
}

bool ProtobufWire::bytes(Input& input, std::string_view& text) const {
    int length = 0;
    if (!input.ReadVarintSizeAsInt(&length)) return false;
    const auto begin = static_cast<std::size_t>(input.CurrentPosition());
    if (!input.Skip(length)) return false;
    text = payload_.substr(begin, static_cast<std::size_t>(length));
    return true;
}

bool ProtobufWire::enter(Input& input, int length, std::size_t type, Node* node) {
    if (length > input.BytesUntilLimit()) return false;
    const auto [limit, deeper] = input.IncrementRecursionDepthAndPushLimit(length);
    return deeper >= 0 && walk(input, type, node) &&
           input.DecrementRecursionDepthAndPopLimit(limit);
}

// Checks an unwanted field, so that what is rejected does not depend on the mapping.
bool ProtobufWire::check(Input& input, const Checked& checked) {
    std::string_view text;
    if (checked.field->type() == Field::TYPE_STRING) return bytes(input, text) && is_utf8(text);
    int length = 0;
    if (!input.ReadVarintSizeAsInt(&length)) return false;
    if (checked.type == Wire::WIRETYPE_LENGTH_DELIMITED)
        return enter(input, length, checked.inner, nullptr);
    if (length > input.BytesUntilLimit()) return false;
    const Input::Limit limit = input.PushLimit(length);
    while (input.BytesUntilLimit() > 0) {
        if (!skip(input, static_cast<std::uint32_t>(checked.type))) return false;
    }
    input.PopLimit(limit);
    return true;
}

// If a field occurs several times, the last one counts; messages are merged.
bool ProtobufWire::take(Input& input, Slot& slot) {
    slot.seen = true;
    std::uint64_t bits = 0;
    std::uint32_t low = 0;
    int length = 0;
    switch (slot.type) {
        case Wire::WIRETYPE_VARINT:
            if (!input.ReadVarint64(&bits)) return false;
            break;
        case Wire::WIRETYPE_FIXED64:
            if (!input.ReadLittleEndian64(&bits)) return false;
            break;
        case Wire::WIRETYPE_FIXED32:
            if (!input.ReadLittleEndian32(&low)) return false;
            bits = low;
            break;
        case Wire::WIRETYPE_LENGTH_DELIMITED:
            if (slot.inner != 0) {
                Node& inner = nodes_[slot.inner];
                return input.ReadVarintSizeAsInt(&length) &&
                       enter(input, length, inner.type, &inner);
            }
            if (!bytes(input, slot.value.text)) return false;
            slot.value.kind = kind_of_bytes(*slot.field);
            return slot.value.kind == Value::Kind::bytes || is_utf8(slot.value.text);
        case Wire::WIRETYPE_START_GROUP:
        case Wire::WIRETYPE_END_GROUP: return false;
    }
    slot.value = value_of(*slot.field, bits);
    return true;
}

bool ProtobufWire::walk(Input& input, std::size_t type, Node* node) {
    for (int begin = input.CurrentPosition(); const std::uint32_t tag = input.ReadTag();
         begin = input.CurrentPosition()) {
        const int number = Wire::GetTagFieldNumber(tag);
        if (number == 0 || input.CurrentPosition() - begin > longest_tag) return false;
        // A field whose wire type is not that of its type counts as unknown.
        const auto is_it = [&](const auto& entry, WireType wanted) {
            return entry.field->number() == number && Wire::GetTagWireType(tag) == wanted;
        };
        if (node != nullptr) {
            const auto slot = std::ranges::find_if(
                node->slots, [&](const Slot& entry) { return is_it(entry, entry.type); });
            if (slot != node->slots.end()) {
                if (!take(input, *slot)) return false;
                continue;
            }
        }
        const auto checked = std::ranges::lower_bound(
            types_[type], number, {}, [](const Checked& entry) { return entry.field->number(); });
        const bool checks =
            checked != types_[type].end() && is_it(*checked, Wire::WIRETYPE_LENGTH_DELIMITED);
        if (!(checks ? check(input, *checked) : skip(input, tag))) return false;
    }
    return input.ConsumedEntireMessage();
}

bool ProtobufWire::set(const Wanted& from, Value& value,
                       std::pmr::memory_resource& arena) const {
    value = {};
    for (const Place parent : from.parents) {
        if (!at(parent).seen) return true;
    }
    const Slot& leaf = at(from.leaf);
    if (from.nanos) {
        const auto time =
            protobuf::timestamp(leaf.seen ? leaf.value.integer : 0,
                                at(*from.nanos).seen ? at(*from.nanos).value.integer : 0, arena);
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

bool ProtobufWire::read(std::string_view payload, std::span<Value> values,
                        std::pmr::memory_resource& arena) {
    if (payload.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return false;
    for (Node& node : nodes_) {
        for (Slot& slot : node.slots) slot.seen = false;
    }
    payload_ = payload;
    Input input(reinterpret_cast<const std::uint8_t*>(payload.data()),
                static_cast<int>(payload.size()));
    input.PushLimit(static_cast<int>(payload.size()));
    Node& root = nodes_.front();
    if (!walk(input, root.type, &root)) return false;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
        if (!set(wanted_[i], values[i], arena)) return false;
    }
    return true;
}

}  // namespace onceward
