// The .proto text of a registry's schema as descriptors.

#include <google/protobuf/any.pb.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/wrappers.pb.h>

#include <map>

#include "consumer/decode/decoder.h"
#include "consumer/decode/descriptor_pool.h"
#include "consumer/decode/proto_sources.h"

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
    // A name that none of them has.
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

}  // namespace onceward
