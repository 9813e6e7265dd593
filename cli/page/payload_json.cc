#include "cli/page/payload_json.h"

#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>

#include "consumer/decode/decoder.h"
#include "consumer/decode/descriptor_pool.h"

namespace onceward {
namespace {

std::optional<std::string> json_of_message(const MessageType& type, std::string_view bytes) {
    google::protobuf::DynamicMessageFactory factory;
    const std::unique_ptr<google::protobuf::Message> message(
        factory.GetPrototype(&type.descriptor())->New());
    if (!message->ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
        return std::nullopt;
    }
    google::protobuf::util::JsonPrintOptions options;
    options.preserve_proto_field_names = true;
    std::string json;
    if (!google::protobuf::util::MessageToJsonString(*message, &json, options).ok())
        return std::nullopt;
    return json;
}

}  // namespace

PayloadJson::PayloadJson(const Configuration& configuration) : configuration_(configuration) {}
PayloadJson::~PayloadJson() = default;

void PayloadJson::forget() { types_.clear(); }

std::optional<std::string> PayloadJson::of(const std::string& topic, const std::string& payload) {
    const auto found = std::ranges::find(configuration_.topics, topic, &TopicConfiguration::name);
    if (found == configuration_.topics.end()) return std::nullopt;
    const FormatOptions& format = found->format;
    if (format.format != Format::protobuf) return std::nullopt;
    const auto [known, fresh] = types_.try_emplace(topic);
    if (fresh) {
        try {
            known->second = std::make_unique<MessageType>(format);
        } catch (const FormatError&) {  // a file that is gone since the process began
        }
    }
    if (!known->second) return std::nullopt;
    std::string_view bytes = payload;
    if (format.framing == Framing::confluent) {
        Record record;
        record.payload = bytes;
        const ConfluentFrame frame = read_confluent_frame(record, MessageIndex::present);
        if (frame.fault != nullptr) return std::nullopt;
        bytes = frame.payload;
    }
    return json_of_message(*known->second, bytes);
}

}  // namespace onceward
