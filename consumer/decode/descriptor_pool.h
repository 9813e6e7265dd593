#pragma once
// A user's Protobuf message type, loaded at run time from a descriptor set or from .proto files; no
// generated code. Owns everything that the descriptor needs. Loading throws FormatError; afterwards
// it is immutable and thread-safe. Only for what reads and writes Protobuf: google's types stay out
// of the other headers.

#include <google/protobuf/descriptor.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "consumer/decode/format_options.h"
#include "consumer/decode/schema_source.h"
#include "dedup/base/iso_time.h"
#include "dedup/message/message.h"
#include "dedup/message/value.h"

namespace onceward {

// The message type of `file` that a frame names by this path of positions; nullptr if the file has
// none there.
const google::protobuf::Descriptor* type_at(const google::protobuf::FileDescriptor& file,
                                            std::span<const std::int32_t> index);

// The file of a schema from a registry, with what it imports: its references, Google's well-known
// types, and the two files that Confluent's serializers bring. Owns everything that the descriptors
// need. Loading throws FormatError; afterwards it is immutable and thread-safe.
class WrittenFile {
  public:
    explicit WrittenFile(const WrittenSchema& schema);
    ~WrittenFile();
    const google::protobuf::FileDescriptor& file() const { return *file_; }

  private:
    struct Sources;
    std::unique_ptr<Sources> sources_;
    const google::protobuf::FileDescriptor* file_ = nullptr;
};

class MessageType {
  public:
    // Reads options.descriptor_set or options.proto_files and looks up options.message. Google's
    // well-known types are known even if the files leave them out.
    explicit MessageType(const FormatOptions& options);
    ~MessageType();

    const google::protobuf::Descriptor& descriptor() const { return *descriptor_; }
    const google::protobuf::DescriptorPool& pool() const;

  private:
    struct Files;
    std::unique_ptr<Files> files_;
    const google::protobuf::Descriptor* descriptor_ = nullptr;
};

// How the value of a path's leaf is read.
enum class PathShape : std::uint8_t { scalar, wrapper, timestamp, list, object };

// A path of the configuration, looked up in a message type. Descriptors are borrowed.
struct ProtobufPath {
    std::vector<const google::protobuf::FieldDescriptor*> parents;  // the messages on the way
    const google::protobuf::FieldDescriptor* leaf = nullptr;        // nullptr: the whole message
    PathShape shape = PathShape::scalar;
    // wrapper: its `value`; timestamp: `seconds`
    const google::protobuf::FieldDescriptor* wrapped = nullptr;
    const google::protobuf::FieldDescriptor* nanos = nullptr;  // timestamp
};

// '' is the whole message. Returns nullopt for a path that the type does not have, and sets `why`.
std::optional<ProtobufPath> find_path(const google::protobuf::Descriptor& root,
                                      const std::string& text, std::string& why);
// The same; throws FormatError for a path that the type does not have.
ProtobufPath compile_path(const google::protobuf::Descriptor& root, const std::string& text);

// The values of Protobuf's fields, the same for both ways to read them. Pure.
namespace protobuf {

inline Value of_kind(Value::Kind kind, std::string_view text = {}) { return {kind, {}, text}; }

inline Value natural(std::uint64_t natural) {
    return {.kind = Value::Kind::natural, .natural = natural};
}

inline Value real(double real) { return {.kind = Value::Kind::real, .real = real}; }

inline Value boolean(bool boolean) { return {.kind = Value::Kind::boolean, .boolean = boolean}; }

// The name as a text; a number that this schema does not name yet stays a number.
inline Value enumerated(const google::protobuf::FieldDescriptor& field, int number) {
    const auto* name = field.enum_type()->FindValueByNumber(number);
    return name == nullptr ? integer_value(number) : of_kind(Value::Kind::text, name->name());
}

// Converts a google.protobuf.Timestamp; returns nullopt if it is outside timestamp.proto's range.
inline std::optional<Value> timestamp(std::int64_t seconds, std::int64_t nanos,
                                      std::pmr::memory_resource& arena) {
    constexpr std::int64_t first = -62'135'596'800;  // 0001-01-01
    constexpr std::int64_t last = 253'402'300'799;   // 9999-12-31
    if (seconds < first || seconds > last || nanos < 0 || nanos > 999'999'999) return std::nullopt;
    Value value{.kind = Value::Kind::timestamp, .integer = seconds * 1'000'000 + nanos / 1'000};
    if (const std::int64_t finer = nanos % 1'000; finer != 0) {
        std::string text = iso_text(std::chrono::microseconds{value.integer});
        const std::string digits = std::to_string(1'000 + finer);
        text.insert(text.size() - 1, digits, 1, 3);  // before the Z
        value.text = keep(arena, text);
    }
    return value;
}

}  // namespace protobuf
}  // namespace onceward
