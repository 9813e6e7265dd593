#include "consumer/produce/record_encoder.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <memory_resource>
#include <nlohmann/json.hpp>

#include "consumer/decode/descriptor_pool.h"

namespace onceward {
namespace {

namespace proto_util = google::protobuf::util;

constexpr const char* type_prefix = "type.googleapis.com";

std::string pointer_of(const std::string& field) {
    if (field.empty() || field.front() == '/') return field;
    return (nlohmann::json::json_pointer() / field).to_string();
}

std::optional<std::string> text_of(const Value& value, const std::string& field) {
    switch (value.kind) {
        case Value::Kind::absent:
        case Value::Kind::null: return std::nullopt;
        case Value::Kind::boolean: return value.boolean ? "true" : "false";
        case Value::Kind::number:
        case Value::Kind::text: return std::string(value.text);
        case Value::Kind::integer:
        case Value::Kind::natural:
        case Value::Kind::real:
        case Value::Kind::bytes:
        case Value::Kind::json:
        case Value::Kind::timestamp: break;
    }
    throw EncodeError("field " + field + " is not a string, a number or a boolean");
}

// JSON to a message's bytes, by Protobuf's own mapping.
std::function<std::string(const std::string&)> protobuf_encoder(const FormatOptions& format) {
    const auto type = std::make_shared<const MessageType>(format);
    const std::shared_ptr<proto_util::TypeResolver> resolver(
        proto_util::NewTypeResolverForDescriptorPool(type_prefix, &type->pool()));
    const std::string url = type_prefix + ("/" + std::string(type->descriptor().full_name()));
    return [type, resolver, url](const std::string& json) {
        std::string payload;
        const auto status = proto_util::JsonToBinaryString(resolver.get(), url, json, &payload);
        if (!status.ok()) throw EncodeError(status.ToString());
        return payload;
    };
}

}  // namespace

RecordEncoder::RecordEncoder(const FormatOptions& format, std::vector<std::string> fields)
    : fields_(std::move(fields)), values_(fields_.size()) {
    if (format.framing != Framing::none)
        throw FormatError("records can be written only with framing: none");
    std::vector<std::string> pointers;
    for (const std::string& field : fields_) pointers.push_back(pointer_of(field));
    json_ = make_decoder(FormatOptions{}, std::move(pointers));
    if (format.format == Format::protobuf) protobuf_ = protobuf_encoder(format);
}

RecordEncoder::Encoded RecordEncoder::encode(std::string_view json) {
    const std::size_t begin = json.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos || json[begin] != '{')
        throw EncodeError("this is not a JSON object");
    std::pmr::monotonic_buffer_resource arena;
    Record record;
    record.payload = json;
    const Decoded decoded = json_->decode(record, values_, arena);
    if (decoded.rejection) throw EncodeError(decoded.rejection->reason);

    Encoded encoded;
    for (std::size_t index = 0; index < fields_.size(); ++index)
        encoded.fields.push_back(text_of(values_[index], fields_[index]));
    encoded.payload = protobuf_ ? protobuf_(std::string(json)) : std::string(json);
    return encoded;
}

}  // namespace onceward
