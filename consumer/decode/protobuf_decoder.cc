// Protobuf payloads: message index, fields.

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <limits>
#include <set>

#include "consumer/decode/decoder.h"
#include "consumer/decode/descriptor_pool.h"
#include "consumer/decode/protobuf_fields.h"
#include "consumer/decode/protobuf_wire.h"

namespace onceward {
namespace {

namespace proto = google::protobuf;

// The type's position in its file, preceded by those of the messages around it.
std::vector<std::int32_t> index_of(const proto::Descriptor& type) {
    std::vector<std::int32_t> index;
    for (const proto::Descriptor* at = &type; at != nullptr; at = at->containing_type()) {
        index.insert(index.begin(), at->index());
    }
    return index;
}

const proto::Descriptor* type_at(const proto::FileDescriptor& file,
                                 std::span<const std::int32_t> index) {
    const proto::Descriptor* type = nullptr;
    for (const std::int32_t position : index) {
        const int count = type == nullptr ? file.message_type_count() : type->nested_type_count();
        if (position >= count) {
            return nullptr;
        }
        type = type == nullptr ? file.message_type(position) : type->nested_type(position);
    }
    return type;
}

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

class ProtobufDecoder final : public Decoder {
  public:
    ProtobufDecoder(const FormatOptions& options, const std::vector<std::string>& paths)
        : Decoder(options),
          type_(options),
          index_(index_of(type_.descriptor())),
          fields_(type_, paths),
          factory_(&type_.pool()),
          message_(factory_.GetPrototype(&type_.descriptor())->New()) {
        std::set<const proto::Descriptor*> seen;
        has_required_ = has_required(type_.descriptor(), seen);
        wire_ = ProtobufWire::make(type_.descriptor(), fields_.paths());
    }

  private:
    Decoded read(const ConfluentFrame& frame, std::span<Value> values,
                 std::pmr::memory_resource& arena) override {
        // DANGER: another message type often parses, and its fields would land in the wrong
        // columns.
        if (std::optional<std::string> fault = check_index(frame.index())) {
            return undecodable(std::move(*fault));
        }
        const std::string_view payload = frame.payload;
        if (wire_ && wire_->read(payload, values, arena)) {
            return {};
        }
        message_->Clear();
        if (payload.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
            !message_->ParsePartialFromArray(payload.data(), static_cast<int>(payload.size()))) {
            return undecodable("the payload is not a valid " + type_.descriptor().full_name() +
                               ": cut short, malformed, not UTF-8 or nested too deep");
        }
        if (has_required_ && !message_->IsInitialized()) {
            return undecodable("the " + type_.descriptor().full_name() +
                               " lacks a required field: " + message_->InitializationErrorString());
        }
        if (const char* fault = fields_.read(*message_, values, arena)) {
            return undecodable(fault);
        }
        return {};
    }

    std::optional<std::string> check_index(std::span<const std::int32_t> index) const {
        if (index.empty() || std::ranges::equal(index, index_)) {
            return std::nullopt;
        }
        const proto::FileDescriptor& file = *type_.descriptor().file();
        const proto::Descriptor* other = type_at(file, index);
        const std::string expected =
            ", the topic is configured for " + type_.descriptor().full_name();
        return "the frame's message index names " +
               (other == nullptr ? "no message of " + file.name() : other->full_name()) + expected;
    }

    MessageType type_;
    std::vector<std::int32_t> index_;
    ProtobufFields fields_;
    proto::DynamicMessageFactory factory_;
    // Reused: it keeps its memory from payload to payload.
    std::unique_ptr<proto::Message> message_;
    bool has_required_ = false;
    // Where the paths allow it; the parser above then only says what is wrong.
    std::unique_ptr<ProtobufWire> wire_;
};

}  // namespace

std::unique_ptr<Decoder> make_protobuf_decoder(const FormatOptions& options,
                                               const std::vector<std::string>& paths) {
    // Protobuf writes to stderr about what it refuses; we have said it in a Rejection.
    static const proto::LogSilencer silence;
    return std::make_unique<ProtobufDecoder>(options, paths);
}

}  // namespace onceward
