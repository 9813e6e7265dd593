// Protobuf payloads of the topic's one message type.

#include <google/protobuf/descriptor.h>

#include <algorithm>

#include "consumer/decode/decoder.h"
#include "consumer/decode/descriptor_pool.h"
#include "consumer/decode/protobuf_message.h"

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

class ProtobufDecoder final : public Decoder {
  public:
    ProtobufDecoder(const FormatOptions& options, const std::vector<std::string>& paths)
        : Decoder(options),
          type_(options),
          index_(index_of(type_.descriptor())),
          message_(type_.descriptor(), compiled(type_.descriptor(), paths)) {}

  private:
    static std::vector<ProtobufPath> compiled(const proto::Descriptor& type,
                                              const std::vector<std::string>& paths) {
        std::vector<ProtobufPath> found;
        for (const std::string& path : paths) found.push_back(compile_path(type, path));
        return found;
    }

    Decoded read(const ConfluentFrame& frame, std::span<Value> values,
                 std::pmr::memory_resource& arena) override {
        // DANGER: another message type often parses, and its fields would land in the wrong
        // columns.
        if (std::optional<std::string> fault = check_index(frame.index())) {
            return undecodable(std::move(*fault));
        }
        return message_.read(frame.payload, values, arena);
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
    ProtobufMessage message_;
};

}  // namespace

std::unique_ptr<Decoder> make_protobuf_decoder(const FormatOptions& options,
                                               const std::vector<std::string>& paths) {
    return std::make_unique<ProtobufDecoder>(options, paths);
}

}  // namespace onceward
