#include "consumer/decode/decoder.h"

#include <simdjson.h>

#include <algorithm>

#include "dedup/base/expects.h"

namespace onceward {
namespace {

// Knows one path: '', the whole payload.
class RawDecoder final : public Decoder {
  public:
    RawDecoder(const FormatOptions& options, const std::vector<std::string>& paths)
        : Decoder(options) {
        for (const std::string& path : paths) {
            if (path.empty()) continue;
            throw FormatError("a raw payload has no field `" + path +
                              "`; use the source `payload`, or the format json or protobuf");
        }
    }

  private:
    Decoded read(const ConfluentFrame& frame, std::span<Value> values,
                 std::pmr::memory_resource&) override {
        std::ranges::fill(values, Value{Value::Kind::bytes, {}, frame.payload});
        return {};
    }
};

}  // namespace

std::unique_ptr<Decoder> make_decoder(const FormatOptions& options,
                                      std::vector<std::string> paths) {
    switch (options.format) {
        case Format::json: return make_json_decoder(options, paths);
        case Format::protobuf: return make_protobuf_decoder(options, paths);
        case Format::raw: return std::make_unique<RawDecoder>(options, paths);
    }
    throw FormatError("unknown format");
}

Decoded Decoder::decode(const Record& record, std::span<Value> values,
                        std::pmr::memory_resource& arena) {
    expects(record.payload.has_value(), "a record that is decoded has a payload");
    ConfluentFrame frame;
    if (framing_ == Framing::none) {
        frame.payload = *record.payload;
    } else {
        frame = read_confluent_frame(record, index_);
    }
    if (frame.fault != nullptr) return undecodable(frame.fault);
    return read(frame, values, arena);
}

bool is_utf8(std::string_view bytes) { return simdjson::validate_utf8(bytes.data(), bytes.size()); }

}  // namespace onceward
