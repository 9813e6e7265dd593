#include "consumer/decode/decoder.h"

#include <algorithm>

#include "consumer/decode/confluent_frame.h"
#include "consumer/decode/decoders.h"
#include "dedup/base/expects.h"

namespace onceward {
namespace {

class RawDecoder final : public Decoder {
  public:
    explicit RawDecoder(Framing framing) : framing_(framing) {}

    Decoded decode(const Record& record, std::span<Value> values,
                   std::pmr::memory_resource&) override {
        expects(record.payload.has_value(), "a record that is decoded has a payload");
        std::string_view payload = *record.payload;
        if (framing_ == Framing::confluent) {
            const ConfluentFrame unframed = read_confluent_frame(record, MessageIndex::none);
            if (unframed.fault != nullptr) {
                return undecodable(unframed.fault);
            }
            payload = unframed.payload;
        }
        Value whole;
        whole.kind = Value::Kind::bytes;
        whole.text = payload;
        std::fill(values.begin(), values.end(), whole);
        return {};
    }

  private:
    Framing framing_;
};

}  // namespace

std::unique_ptr<Decoder> make_raw_decoder(const FormatOptions& options,
                                          const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
        if (!path.empty()) {
            throw FormatError("a raw payload has no field `" + path +
                              "`; use the source `payload`, or the format json or protobuf");
        }
    }
    return std::make_unique<RawDecoder>(options.framing);
}

std::unique_ptr<Decoder> make_decoder(const FormatOptions& options,
                                      std::vector<std::string> paths) {
    switch (options.format) {
        case Format::json: return make_json_decoder(options, paths);
        case Format::protobuf: return make_protobuf_decoder(options, paths);
        case Format::raw: return make_raw_decoder(options, paths);
    }
    throw FormatError("unknown format");
}

}  // namespace onceward
