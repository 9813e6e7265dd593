#pragma once
// A path of the configuration, looked up in a Protobuf message type. Pure; descriptors are
// borrowed. Only for the Protobuf decoder: google's types stay out of the other headers.

#include <cstdint>
#include <string>
#include <vector>

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
}  // namespace google::protobuf

namespace onceward {

// How a leaf's value is read.
enum class PathShape : std::uint8_t { scalar, wrapper, timestamp, list, object };

struct ProtobufPath {
    std::vector<const google::protobuf::FieldDescriptor*> parents;  // the messages on the way
    const google::protobuf::FieldDescriptor* leaf = nullptr;        // nullptr: the whole message
    PathShape shape = PathShape::scalar;
    const google::protobuf::FieldDescriptor* wrapped =
        nullptr;  // wrapper: its `value`; timestamp: `seconds`
    const google::protobuf::FieldDescriptor* nanos = nullptr;  // timestamp
};

// Throws FormatError for a path that the type does not have; '' is the whole message.
ProtobufPath compile_path(const google::protobuf::Descriptor& root, const std::string& text);

}  // namespace onceward
