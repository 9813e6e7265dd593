#include "consumer/decode/protobuf_message.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/stubs/logging.h>

#include <limits>
#include <set>

namespace onceward {
namespace {

namespace proto = google::protobuf;

// Returns whether proto2's `required` occurs in the type or below it. Only then does each message
// need the check.
bool has_required(const proto::Descriptor& type, std::set<const proto::Descriptor*>& seen) {
    if (!seen.insert(&type).second) {
        return false;
    }
    for (int i = 0; i < type.field_count(); ++i) {
        const proto::FieldDescriptor& field = *type.field(i);
        const bool message = field.cpp_type() == proto::FieldDescriptor::CPPTYPE_MESSAGE;
        if (field.is_required() || (message && has_required(*field.message_type(), seen))) {
            return true;
        }
    }
    return false;
}

}  // namespace

ProtobufMessage::ProtobufMessage(const proto::Descriptor& type, std::vector<ProtobufPath> paths)
    : type_(type),
      fields_(*type.file()->pool(), std::move(paths)),
      factory_(type.file()->pool()),
      message_(factory_.GetPrototype(&type)->New()) {
    // Protobuf writes to stderr about what it refuses; we have said it in a Rejection.
    static const proto::LogSilencer silence;
    std::set<const proto::Descriptor*> seen;
    has_required_ = has_required(type, seen);
    wire_ = ProtobufWire::make(type, fields_.paths());
}

Decoded ProtobufMessage::read(std::string_view payload, std::span<Value> values,
                              std::pmr::memory_resource& arena) {
    if (wire_ && wire_->read(payload, values, arena)) {
        return {};
    }
    message_->Clear();
    if (payload.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
        !message_->ParsePartialFromArray(payload.data(), static_cast<int>(payload.size()))) {
        return undecodable("the payload is not a valid " + type_.full_name() +
                           ": cut short, malformed, not UTF-8 or nested too deep");
    }
    if (has_required_ && !message_->IsInitialized()) {
        return undecodable("the " + type_.full_name() +
                           " lacks a required field: " + message_->InitializationErrorString());
    }
    if (const char* fault = fields_.read(*message_, values, arena)) {
        return undecodable(fault);
    }
    return {};
}

}  // namespace onceward
