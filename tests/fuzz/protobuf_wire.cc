// Both readers of Protobuf on the same bytes: the walk over the wire format, and a parser with
// Protobuf's reflection. They refuse the same payloads, and see the same values.

#include "consumer/decode/protobuf_wire.h"

#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/stubs/logging.h>

#include "consumer/decode/descriptor_pool.h"
#include "consumer/decode/format_options.h"
#include "consumer/decode/protobuf_fields.h"
#include "tests/fuzz/fuzz.h"

namespace onceward::fuzz {
namespace {

// The paths that can be walked.
const std::vector<std::string> paths{
    "id",       "big",   "natural", "ratio", "share",
    "yes",      "blob",  "state",   "at",    "note",
    "line.sku", "limit", "maybe",   "small", "line.whole.line.units"};

FormatOptions format() {
    FormatOptions options;
    options.format = Format::protobuf;
    options.proto_files = {ONCEWARD_SOURCE_FOLDER "/tests/fuzz/sample.proto"};
    options.message = "fuzz.v1.Sample";
    return options;
}

struct Readers {
    google::protobuf::LogSilencer silence;
    MessageType type{format()};
    ProtobufFields fields{type.pool(), compiled()};
    std::unique_ptr<ProtobufWire> wire = ProtobufWire::make(type.descriptor(), fields.paths());
    google::protobuf::DynamicMessageFactory factory{&type.pool()};
    std::unique_ptr<google::protobuf::Message> message{
        factory.GetPrototype(&type.descriptor())->New()};

    std::vector<ProtobufPath> compiled() const {
        std::vector<ProtobufPath> all;
        for (const auto& path : paths) all.push_back(compile_path(type.descriptor(), path));
        return all;
    }
    std::string parsed(std::string_view payload) {
        std::vector<Value> values(paths.size());
        std::pmr::monotonic_buffer_resource arena;
        const int size = static_cast<int>(payload.size());
        const bool good = message->ParsePartialFromArray(payload.data(), size) &&
                          fields.read(*message, values, arena) == nullptr;
        return good ? describe(values) : "refused";
    }
    std::string walked(std::string_view payload) {
        std::vector<Value> values(paths.size());
        std::pmr::monotonic_buffer_resource arena;
        return wire->read(payload, values, arena) ? describe(values) : "refused";
    }
};

}  // namespace
}  // namespace onceward::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onceward;
    static fuzz::Readers readers;
    const std::string_view payload = fuzz::text_of(data, size);
    fuzz::require(readers.walked(payload) == readers.parsed(payload),
                  "both Protobuf readers say the same");
    return 0;
}
