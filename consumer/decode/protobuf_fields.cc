#include "consumer/decode/protobuf_fields.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver_util.h>

#include "dedup/message/message.h"

namespace onceward {
namespace {

namespace proto = google::protobuf;
using Field = proto::FieldDescriptor;

const std::string type_url_prefix = "type.googleapis.com";

Value text_value(Value::Kind kind, std::string_view text, std::pmr::memory_resource& arena) {
    return protobuf::of_kind(kind, keep(arena, text));
}

Value scalar(const proto::Message& message, const Field* field, std::pmr::memory_resource& arena) {
    const proto::Reflection& reflection = *message.GetReflection();
    switch (field->cpp_type()) {
        case Field::CPPTYPE_INT32: return integer_value(reflection.GetInt32(message, field));
        case Field::CPPTYPE_INT64: return integer_value(reflection.GetInt64(message, field));
        case Field::CPPTYPE_UINT32: return integer_value(reflection.GetUInt32(message, field));
        case Field::CPPTYPE_UINT64: return protobuf::natural(reflection.GetUInt64(message, field));
        case Field::CPPTYPE_DOUBLE: return protobuf::real(reflection.GetDouble(message, field));
        case Field::CPPTYPE_FLOAT: return protobuf::real(reflection.GetFloat(message, field));
        case Field::CPPTYPE_BOOL: return protobuf::boolean(reflection.GetBool(message, field));
        case Field::CPPTYPE_ENUM:
            return protobuf::enumerated(*field, reflection.GetEnumValue(message, field));
        case Field::CPPTYPE_STRING: {
            std::string scratch;
            const bool text = field->type() == Field::TYPE_STRING;
            return text_value(text ? Value::Kind::text : Value::Kind::bytes,
                              reflection.GetStringReference(message, field, &scratch), arena);
        }
        case Field::CPPTYPE_MESSAGE: break;
    }
    return {};
}

}  // namespace

ProtobufFields::ProtobufFields(const proto::DescriptorPool& pool, std::vector<ProtobufPath> paths)
    : paths_(std::move(paths)),
      resolver_(proto::util::NewTypeResolverForDescriptorPool(type_url_prefix, &pool)) {}

// Protobuf's JSON form of the message, in `json_`; names as the .proto writes them, like the paths
// of the config.
const char* ProtobufFields::print(const proto::Message& message) {
    proto::util::JsonPrintOptions options;
    options.preserve_proto_field_names = true;
    const std::string url = type_url_prefix + "/" + message.GetDescriptor()->full_name();
    binary_.clear();
    json_.clear();
    const bool done =
        message.SerializePartialToString(&binary_) &&
        proto::util::BinaryToJsonString(resolver_.get(), url, binary_, &json_, options).ok();
    // Protobuf prints nothing for a google.protobuf.Value without a kind.
    return done && !json_.empty() ? nullptr : "a part of the message has no JSON form";
}

const char* ProtobufFields::object(const proto::Message& message, Value& value,
                                   std::pmr::memory_resource& arena) {
    if (const char* fault = print(message)) {
        return fault;
    }
    std::string_view text = json_;
    const auto type = message.GetDescriptor()->well_known_type();
    if (type == proto::Descriptor::WELLKNOWNTYPE_DURATION ||
        type == proto::Descriptor::WELLKNOWNTYPE_FIELDMASK) {
        // A JSON string without escapes: `1.5s`, `a,b`.
        value = text_value(Value::Kind::text, text.substr(1, text.size() - 2), arena);
    } else {
        value = text == "null" ? protobuf::of_kind(Value::Kind::null)
                               : text_value(Value::Kind::json, text, arena);
    }
    return nullptr;
}

// Protobuf prints messages, not fields: the field moves into an empty message of the same type and
// back.
const char* ProtobufFields::list(proto::Message& message, const Field* field, Value& value,
                                 std::pmr::memory_resource& arena) {
    const proto::Reflection& reflection = *message.GetReflection();
    if (reflection.FieldSize(message, field) == 0) {
        value = text_value(Value::Kind::json, field->is_map() ? "{}" : "[]", arena);
        return nullptr;
    }
    const std::unique_ptr<proto::Message> alone(message.New());
    reflection.SwapFields(&message, alone.get(), {field});
    const char* fault = print(*alone);
    reflection.SwapFields(&message, alone.get(), {field});
    if (fault != nullptr) {
        return fault;
    }
    std::string_view text = json_;  // {"name":VALUE}
    text.remove_prefix(field->name().size() + 4);
    text.remove_suffix(1);
    value = text_value(Value::Kind::json, text, arena);
    return nullptr;
}

const char* ProtobufFields::leaf(proto::Message& message, const ProtobufPath& path, Value& value,
                                 std::pmr::memory_resource& arena) {
    const proto::Reflection& reflection = *message.GetReflection();
    if (path.shape == PathShape::list) {
        return list(message, path.leaf, value, arena);
    }
    // Without presence a default value looks like an unset one, and counts as present.
    if (path.leaf->has_presence() && !reflection.HasField(message, path.leaf)) {
        return nullptr;
    }
    if (path.shape == PathShape::scalar) {
        value = scalar(message, path.leaf, arena);
        return nullptr;
    }
    const proto::Message& inner = reflection.GetMessage(message, path.leaf);
    if (path.shape == PathShape::object) return object(inner, value, arena);
    if (path.shape == PathShape::wrapper) {
        value = scalar(inner, path.wrapped, arena);
        return nullptr;
    }
    const proto::Reflection& fields = *inner.GetReflection();
    const auto time = protobuf::timestamp(fields.GetInt64(inner, path.wrapped),
                                          fields.GetInt32(inner, path.nanos), arena);
    if (!time) return "a google.protobuf.Timestamp is out of its range";
    value = *time;
    return nullptr;
}

const char* ProtobufFields::one(proto::Message& message, const ProtobufPath& path, Value& value,
                                std::pmr::memory_resource& arena) {
    proto::Message* at = &message;
    for (const Field* parent : path.parents) {
        const proto::Reflection& reflection = *at->GetReflection();
        if (!reflection.HasField(*at, parent)) {
            return nullptr;
        }
        at = reflection.MutableMessage(at, parent);
    }
    return path.leaf == nullptr ? object(*at, value, arena) : leaf(*at, path, value, arena);
}

const char* ProtobufFields::read(proto::Message& message, std::span<Value> values,
                                 std::pmr::memory_resource& arena) {
    for (std::size_t i = 0; i < paths_.size(); ++i) {
        values[i] = {};
        if (const char* fault = one(message, paths_[i], values[i], arena)) {
            return fault;
        }
    }
    return nullptr;
}

}  // namespace onceward
