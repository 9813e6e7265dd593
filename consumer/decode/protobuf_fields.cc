#include "consumer/decode/protobuf_fields.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver_util.h>

#include "consumer/decode/protobuf_values.h"
#include "dedup/message/message.h"

namespace onceward {
namespace {

namespace proto = google::protobuf;
using Field = proto::FieldDescriptor;

const std::string type_url_prefix = "type.googleapis.com";

Value text_value(Value::Kind kind, std::string_view text, std::pmr::memory_resource& arena) {
    return protobuf::of_kind(kind, keep(arena, text));
}

Value enum_value(const proto::Message& message, const Field* field,
                 std::pmr::memory_resource& arena) {
    const int number = message.GetReflection()->GetEnumValue(message, field);
    const proto::EnumValueDescriptor* name = field->enum_type()->FindValueByNumber(number);
    // A number that this schema does not name yet stays a number.
    return name == nullptr ? protobuf::integer(number)
                           : text_value(Value::Kind::text, name->name(), arena);
}

Value scalar(const proto::Message& message, const Field* field, std::pmr::memory_resource& arena) {
    const proto::Reflection& reflection = *message.GetReflection();
    switch (field->cpp_type()) {
        case Field::CPPTYPE_INT32: return protobuf::integer(reflection.GetInt32(message, field));
        case Field::CPPTYPE_INT64: return protobuf::integer(reflection.GetInt64(message, field));
        case Field::CPPTYPE_UINT32: return protobuf::integer(reflection.GetUInt32(message, field));
        case Field::CPPTYPE_UINT64: return protobuf::natural(reflection.GetUInt64(message, field));
        case Field::CPPTYPE_DOUBLE: return protobuf::real(reflection.GetDouble(message, field));
        case Field::CPPTYPE_FLOAT: return protobuf::real(reflection.GetFloat(message, field));
        case Field::CPPTYPE_BOOL: return protobuf::boolean(reflection.GetBool(message, field));
        case Field::CPPTYPE_ENUM: return enum_value(message, field, arena);
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

struct ProtobufFields::State {
    std::vector<ProtobufPath> paths;
    std::unique_ptr<proto::util::TypeResolver> resolver;
    std::string binary;
    std::string json;

    const char* print(const proto::Message& message);
    const char* object(const proto::Message& message, Value& value,
                       std::pmr::memory_resource& arena);
    const char* list(proto::Message& message, const Field* field, Value& value,
                     std::pmr::memory_resource& arena);
    const char* leaf(proto::Message& message, const ProtobufPath& path, Value& value,
                     std::pmr::memory_resource& arena);
    const char* one(proto::Message& message, const ProtobufPath& path, Value& value,
                    std::pmr::memory_resource& arena);
};

ProtobufFields::ProtobufFields(const MessageType& type, const std::vector<std::string>& paths)
    : state_(std::make_unique<State>()) {
    for (const std::string& path : paths) {
        state_->paths.push_back(compile_path(type.descriptor(), path));
    }
    state_->resolver.reset(
        proto::util::NewTypeResolverForDescriptorPool(type_url_prefix, &type.pool()));
}

ProtobufFields::~ProtobufFields() = default;

const std::vector<ProtobufPath>& ProtobufFields::paths() const { return state_->paths; }

// Protobuf's JSON form of the message, in `json`; names as the .proto writes them, like the paths
// of the config.
const char* ProtobufFields::State::print(const proto::Message& message) {
    proto::util::JsonPrintOptions options;
    options.preserve_proto_field_names = true;
    const std::string url = type_url_prefix + "/" + message.GetDescriptor()->full_name();
    binary.clear();
    json.clear();
    const bool done =
        message.SerializePartialToString(&binary) &&
        proto::util::BinaryToJsonString(resolver.get(), url, binary, &json, options).ok();
    // Protobuf prints nothing for a google.protobuf.Value without a kind.
    return done && !json.empty() ? nullptr : "a part of the message has no JSON form";
}

const char* ProtobufFields::State::object(const proto::Message& message, Value& value,
                                          std::pmr::memory_resource& arena) {
    if (const char* fault = print(message)) {
        return fault;
    }
    std::string_view text = json;
    switch (message.GetDescriptor()->well_known_type()) {
        case proto::Descriptor::WELLKNOWNTYPE_DURATION:
        case proto::Descriptor::WELLKNOWNTYPE_FIELDMASK:
            // A JSON string without escapes: `1.5s`, `a,b`.
            value = text_value(Value::Kind::text, text.substr(1, text.size() - 2), arena);
            return nullptr;
        default:  // Protobuf's own list, which grows
            value = text == "null" ? protobuf::of_kind(Value::Kind::null)
                                   : text_value(Value::Kind::json, text, arena);
            return nullptr;
    }
}

// Protobuf prints messages, not fields: the field moves into an empty message of the same type and
// back.
const char* ProtobufFields::State::list(proto::Message& message, const Field* field, Value& value,
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
    std::string_view text = json;  // {"name":VALUE}
    text.remove_prefix(field->name().size() + 4);
    text.remove_suffix(1);
    value = text_value(Value::Kind::json, text, arena);
    return nullptr;
}

const char* timestamp(const proto::Message& message, const ProtobufPath& path, Value& value) {
    const proto::Reflection& reflection = *message.GetReflection();
    const auto time = protobuf::timestamp(reflection.GetInt64(message, path.wrapped),
                                          reflection.GetInt32(message, path.nanos));
    if (!time) return "a google.protobuf.Timestamp is out of its range";
    value = *time;
    return nullptr;
}

const char* ProtobufFields::State::leaf(proto::Message& message, const ProtobufPath& path,
                                        Value& value, std::pmr::memory_resource& arena) {
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
    if (path.shape == PathShape::object) {
        return object(inner, value, arena);
    }
    if (path.shape == PathShape::timestamp) {
        return timestamp(inner, path, value);
    }
    value = scalar(inner, path.wrapped, arena);
    return nullptr;
}

const char* ProtobufFields::State::one(proto::Message& message, const ProtobufPath& path,
                                       Value& value, std::pmr::memory_resource& arena) {
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
    for (std::size_t i = 0; i < state_->paths.size(); ++i) {
        values[i] = {};
        if (const char* fault = state_->one(message, state_->paths[i], values[i], arena)) {
            return fault;
        }
    }
    return nullptr;
}

}  // namespace onceward
