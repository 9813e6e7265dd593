#pragma once
// Reads the wanted fields of a parsed message, by Protobuf's reflection.
// Belongs to one thread. Reading returns a fault, and never throws. Only for the Protobuf decoder:
// google's types stay out of the other headers.

#include <google/protobuf/message.h>
#include <google/protobuf/util/type_resolver.h>

#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

#include "consumer/decode/descriptor_pool.h"
#include "dedup/message/value.h"

namespace onceward {

class ProtobufFields {
  public:
    // `pool`, where the paths were looked up, outlives this object.
    ProtobufFields(const google::protobuf::DescriptorPool& pool, std::vector<ProtobufPath> paths);
    const std::vector<ProtobufPath>& paths() const { return paths_; }

    // Sets values[i] from path i. `message` is changed for a moment only. Returns what is wrong, or
    // nullptr.
    const char* read(google::protobuf::Message& message, std::span<Value> values,
                     std::pmr::memory_resource& arena);

  private:
    using Message = google::protobuf::Message;

    const char* print(const Message& message);
    const char* object(const Message& message, Value& value, std::pmr::memory_resource& arena);
    const char* list(Message& message, const google::protobuf::FieldDescriptor* field, Value& value,
                     std::pmr::memory_resource& arena);
    const char* leaf(Message& message, const ProtobufPath& path, Value& value,
                     std::pmr::memory_resource& arena);
    const char* one(Message& message, const ProtobufPath& path, Value& value,
                    std::pmr::memory_resource& arena);

    std::vector<ProtobufPath> paths_;
    std::unique_ptr<google::protobuf::util::TypeResolver> resolver_;
    std::string binary_;
    std::string json_;
};

}  // namespace onceward
