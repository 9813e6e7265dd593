#pragma once
// A user's Protobuf message type, loaded at run time from a descriptor set or from .proto files; no
// generated code. Owns everything that the descriptor needs. Loading throws FormatError; afterwards
// it is immutable and thread-safe.

#include <memory>
#include <string>
#include <vector>

#include "consumer/decode/format_options.h"

namespace google::protobuf {
class Descriptor;
class DescriptorPool;
}  // namespace google::protobuf

namespace onceward {

class MessageType {
  public:
    // Reads options.descriptor_set or options.proto_files and looks up options.message. Google's
    // well-known types are there even where the files leave them out.
    explicit MessageType(const FormatOptions& options);
    ~MessageType();

    const google::protobuf::Descriptor& descriptor() const { return *descriptor_; }
    const google::protobuf::DescriptorPool& pool() const;

  private:
    struct Files;
    std::unique_ptr<Files> files_;
    const google::protobuf::Descriptor* descriptor_ = nullptr;
};

}  // namespace onceward
