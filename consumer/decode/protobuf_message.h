#pragma once
// Reads the wanted fields of payloads of one message type: from their wire format if the paths
// allow it, else by Protobuf's parser. Belongs to one thread. Bad payloads are rejections. Only for
// the Protobuf decoders: google's types stay out of the other headers.

#include <google/protobuf/dynamic_message.h>

#include <memory>
#include <memory_resource>
#include <span>
#include <string_view>
#include <vector>

#include "consumer/decode/decoder.h"
#include "consumer/decode/descriptor_pool.h"
#include "consumer/decode/protobuf_fields.h"
#include "consumer/decode/protobuf_wire.h"

namespace onceward {

class ProtobufMessage {
  public:
    // `type` and its pool outlive this object.
    ProtobufMessage(const google::protobuf::Descriptor& type, std::vector<ProtobufPath> paths);

    // Sets values[i] from path i. Names of enums are views of the type.
    Decoded read(std::string_view payload, std::span<Value> values,
                 std::pmr::memory_resource& arena);

  private:
    const google::protobuf::Descriptor& type_;
    ProtobufFields fields_;
    google::protobuf::DynamicMessageFactory factory_;
    // Reused: it keeps its memory from payload to payload.
    std::unique_ptr<google::protobuf::Message> message_;
    bool has_required_ = false;
    // Set if the paths allow it; the parser then only says what is wrong.
    std::unique_ptr<ProtobufWire> wire_;
};

}  // namespace onceward
