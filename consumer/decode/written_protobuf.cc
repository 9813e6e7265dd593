#include "consumer/decode/written_protobuf.h"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/wrappers.pb.h>

#include <algorithm>
#include <map>
#include <utility>

#include "consumer/decode/decoder.h"
#include "consumer/decode/descriptor_pool.h"
#include "consumer/decode/proto_sources.h"
#include "consumer/decode/protobuf_message.h"

namespace onceward {
namespace {

namespace proto = google::protobuf;

// Confluent's serializers import these two without a reference to them.
constexpr const char* confluent_meta = R"(syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta {
  string doc = 1;
  map<string, string> params = 2;
  repeated string tags = 3;
}
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
)";
constexpr const char* confluent_decimal = R"(syntax = "proto3";
package confluent.type;
message Decimal {
  bytes value = 1;
  uint32 precision = 2;
  int32 scale = 3;
}
)";

class Texts final : public proto::compiler::SourceTree {
  public:
    // The first text of a name counts.
    void add(const std::string& name, std::string text) {
        texts_.try_emplace(name, std::move(text));
    }
    proto::io::ZeroCopyInputStream* Open(const std::string& name) override {
        const auto found = texts_.find(name);
        if (found == texts_.end()) return nullptr;
        const std::string& text = found->second;
        return new proto::io::ArrayInputStream(text.data(), static_cast<int>(text.size()));
    }
    std::string GetLastErrorMessage() override { return "it is not among the references"; }
    // A name that none of the texts has.
    std::string free_name() const {
        std::string name = "schema.proto";
        while (texts_.contains(name)) name.insert(0, "_");
        return name;
    }

  private:
    std::map<std::string, std::string> texts_;
};

}  // namespace

void load_well_known_types() {
    for (const proto::Descriptor* type :
         {proto::Any::descriptor(), proto::Duration::descriptor(), proto::Empty::descriptor(),
          proto::FieldMask::descriptor(), proto::Struct::descriptor(),
          proto::Timestamp::descriptor(), proto::StringValue::descriptor()}) {
        if (type == nullptr) {
            throw FormatError("Protobuf's well-known types are missing from this program");
        }
    }
}

struct WrittenFile::Sources {
    Texts texts;
    proto::DescriptorPoolDatabase well_known{*proto::DescriptorPool::generated_pool()};
    FirstError error;
    proto::compiler::SourceTreeDescriptorDatabase database{&texts, &well_known};
    proto::DescriptorPool pool{&database, database.GetValidationErrorCollector()};
};

WrittenFile::WrittenFile(const WrittenSchema& schema) {
    load_well_known_types();
    sources_ = std::make_unique<Sources>();
    for (const WrittenSchema::Reference& reference : schema.references) {
        sources_->texts.add(reference.name, reference.text);
    }
    const std::string name = sources_->texts.free_name();
    sources_->texts.add(name, schema.text);
    sources_->texts.add("confluent/meta.proto", confluent_meta);
    sources_->texts.add("confluent/type/decimal.proto", confluent_decimal);
    sources_->database.RecordErrorsTo(&sources_->error);
    file_ = sources_->pool.FindFileByName(name);
    if (file_ == nullptr) {
        throw FormatError("its .proto text does not compile: " + sources_->error.text);
    }
}

WrittenFile::~WrittenFile() = default;

const proto::Descriptor* type_at(const proto::FileDescriptor& file,
                                 std::span<const std::int32_t> index) {
    const proto::Descriptor* type = nullptr;
    for (const std::int32_t position : index) {
        const int count = type == nullptr ? file.message_type_count() : type->nested_type_count();
        if (position < 0 || position >= count) {
            return nullptr;
        }
        type = type == nullptr ? file.message_type(position) : type->nested_type(position);
    }
    return type;
}

namespace {

namespace proto = google::protobuf;

// The wanted paths that one message type has, and which of all wanted paths they are.
struct TypeReader {
    struct Place {
        std::size_t path;
        bool names;  // an enum, whose values are names
    };
    std::vector<Place> places;
    std::vector<Value> values;
    std::unique_ptr<ProtobufMessage> message;

    TypeReader(const proto::Descriptor& type, const std::vector<std::string>& paths) {
        std::vector<ProtobufPath> found;
        std::string ignored;
        for (std::size_t i = 0; i < paths.size(); ++i) {
            std::optional<ProtobufPath> path = find_path(type, paths[i], ignored);
            if (!path) continue;
            const auto* leaf = path->leaf;
            const bool names =
                leaf != nullptr && leaf->cpp_type() == proto::FieldDescriptor::CPPTYPE_ENUM;
            found.push_back(std::move(*path));
            places.push_back({i, names});
        }
        values.resize(places.size());
        message = std::make_unique<ProtobufMessage>(type, std::move(found));
    }
};

class WrittenProtobuf final : public Decoder {
  public:
    WrittenProtobuf(const WrittenSchema& schema, std::vector<std::string> paths)
        : Decoder(Framing::confluent), file_(schema), paths_(std::move(paths)) {}

  private:
    Decoded read(const ConfluentFrame& frame, std::span<Value> all,
                 std::pmr::memory_resource& arena) override {
        // A frame with a GUID may leave the list out, which means the first type.
        constexpr std::int32_t first[] = {0};
        const std::span<const std::int32_t> index =
            frame.index().empty() ? std::span<const std::int32_t>(first) : frame.index();
        const proto::Descriptor* type = type_at(file_.file(), index);
        if (type == nullptr) {
            return undecodable("the frame's message index names no message of its schema");
        }
        auto [known, fresh] = readers_.try_emplace(type);
        if (fresh) known->second = std::make_unique<TypeReader>(*type, paths_);
        TypeReader& reader = *known->second;
        std::fill(all.begin(), all.end(), Value{});
        Decoded decoded = reader.message->read(frame.payload, reader.values, arena);
        if (decoded.rejection) return decoded;
        for (std::size_t i = 0; i < reader.places.size(); ++i) {
            Value& value = all[reader.places[i].path];
            value = reader.values[i];
            // DANGER: copy an enum's name. It belongs to the schema, which may be gone before its
            // messages are written.
            if (reader.places[i].names) value.text = keep(arena, value.text);
        }
        return decoded;
    }

    WrittenFile file_;
    std::vector<std::string> paths_;
    // At most one for each message type of the schema.
    std::map<const proto::Descriptor*, std::unique_ptr<TypeReader>> readers_;
};

}  // namespace

void check_written_protobuf(const FormatOptions& options) {
    if (options.envelope == Envelope::none) return;
    throw FormatError("an envelope is unwrapped from JSON and Avro only. Write `envelope: none`");
}

std::unique_ptr<Decoder> make_written_protobuf(const WrittenSchema& schema,
                                               std::vector<std::string> paths) {
    // Protobuf writes to stderr about what it refuses; the rejections say it.
    static const proto::LogSilencer silence;
    return std::make_unique<WrittenProtobuf>(schema, std::move(paths));
}

}  // namespace onceward
