// The text of an Avro schema with a reference, and a payload that is read by it.

#include <nlohmann/json.hpp>

#include "consumer/decode/avro_decoder.h"
#include "tests/fuzz/fuzz.h"

namespace onceward::fuzz {
namespace {

std::string read(const WrittenSchema& schema, Envelope envelope, std::string_view payload) {
    FormatOptions options;
    options.format = Format::avro;
    options.envelope = envelope;
    std::unique_ptr<Decoder> decoder;
    const std::vector<std::string> paths{"", "/a", "/a/b", "/b/0", "/next/next"};
    try {
        decoder = make_avro_decoder(schema, options, paths);
    } catch (const FormatError& error) {
        require(*error.what() != '\0', "a fault is said");
        return error.what();
    }
    std::pmr::monotonic_buffer_resource arena;
    std::vector<Value> values(paths.size());
    ConfluentFrame frame;
    frame.payload = payload;
    const Decoded decoded = decoder->decode_unframed(frame, values, arena);
    if (decoded.rejection) return decoded.rejection->reason;
    for (const Value& value : values) {
        if (value.kind != Value::Kind::json) continue;
        require(nlohmann::json::accept(value.text), "JSON is JSON");
    }
    return describe(values);
}

}  // namespace
}  // namespace onceward::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onceward;
    fuzz::Parts parts(fuzz::text_of(data, size));
    WrittenSchema schema;
    schema.text = parts.text();
    if (std::string_view reference = parts.text(); !reference.empty()) {
        schema.references.push_back({"a.avsc", std::string(reference)});
    }
    const Envelope envelope = (parts.byte() & 1) != 0 ? Envelope::debezium : Envelope::none;
    const std::string first = fuzz::read(schema, envelope, parts.rest());
    fuzz::require(fuzz::read(schema, envelope, parts.rest()) == first,
                  "the same schema and payload read to the same");
    return 0;
}
