#pragma once
// Reads the wanted fields of a parsed message, by Protobuf's reflection.
// Belongs to one thread. Paths are checked when they are added (FormatError); reading returns a
// fault, never throws. Only for the Protobuf decoder: google's types stay out of the other headers.

#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

#include "consumer/decode/descriptor_pool.h"
#include "consumer/decode/protobuf_path.h"
#include "dedup/message/value.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace onceward {

class ProtobufFields {
  public:
    // Throws FormatError for a path that the type does not have. `type` outlives this object.
    ProtobufFields(const MessageType& type, const std::vector<std::string>& paths);
    ~ProtobufFields();
    const std::vector<ProtobufPath>& paths() const;

    // Sets values[i] from path i. `message` is changed for a moment only. Returns what is wrong, or
    // nullptr.
    const char* read(google::protobuf::Message& message, std::span<Value> values,
                     std::pmr::memory_resource& arena);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace onceward
