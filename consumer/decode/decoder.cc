#include "consumer/decode/decoder.h"

#include <simdjson.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "dedup/base/expects.h"
#include "dedup/base/nearest_name.h"

namespace onceward {
namespace {

constexpr std::size_t magic_and_id = 1 + 4;
constexpr std::size_t magic_and_guid = 1 + 16;

// A zigzag varint of at most 32 bits, taken off the front of `bytes`.
std::optional<std::int32_t> take_varint(std::string_view& bytes) {
    std::uint64_t raw = 0;
    for (std::size_t i = 0; i < 5 && i < bytes.size(); ++i) {
        const auto byte = static_cast<std::uint8_t>(bytes[i]);
        raw |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0) {
            if (raw > std::numeric_limits<std::uint32_t>::max()) {
                return std::nullopt;
            }
            bytes.remove_prefix(i + 1);
            const auto zigzag = static_cast<std::uint32_t>(raw);
            return static_cast<std::int32_t>((zigzag >> 1) ^ (0U - (zigzag & 1U)));
        }
    }
    return std::nullopt;
}

// Takes the list off the front of `bytes`. Returns the fault, or nullptr.
const char* take_indexes(std::string_view& bytes, ConfluentFrame& unframed) {
    const std::optional<std::int32_t> count = take_varint(bytes);
    if (!count) {
        return "the frame's message index list is cut short or overlong";
    }
    // DANGER: the count comes from the wire. Unchecked, it would write past the end of the array.
    if (*count < 0 || *count > static_cast<std::int32_t>(ConfluentFrame::max_indexes)) {
        return "the frame's message index list has a negative or huge count";
    }
    if (*count == 0) {  // the short form of the list [0]
        unframed.indexes[0] = 0;
        unframed.index_count = 1;
        return nullptr;
    }
    for (std::int32_t i = 0; i < *count; ++i) {
        const std::optional<std::int32_t> index = take_varint(bytes);
        if (!index) {
            return "the frame's message index list is cut short or overlong";
        }
        if (*index < 0) {
            return "the frame's message index list has a negative index";
        }
        unframed.indexes[static_cast<std::size_t>(i)] = *index;
    }
    unframed.index_count = static_cast<std::size_t>(*count);
    return nullptr;
}

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

Value text_or_null(const std::optional<std::string_view>& bytes) {
    return bytes ? text_or_bytes(*bytes) : Value{Value::Kind::null, {}, {}};
}

Value header(const Record& record, std::string_view name) {
    const std::optional<std::string_view> last = last_header(record, name);
    const bool is_there =
        std::ranges::find(record.headers, name, &Header::name) != record.headers.end();
    return is_there ? text_or_null(last) : Value{};
}

Value metadata(std::string_view name, const Record& record, std::string_view topic,
               std::pmr::memory_resource& arena) {
    if (name == "partition") return integer_value(record.partition.raw());
    if (name == "offset") return integer_value(record.offset.raw());
    if (name == "topic") return text_or_bytes(keep(arena, topic));
    if (!record.timestamp) return {Value::Kind::null, {}, {}};
    Value value{Value::Kind::timestamp, {}, {}};
    // A producer's nanoseconds that were taken for milliseconds: not a time, and refused as such.
    if (__builtin_mul_overflow(record.timestamp->count(), 1000, &value.integer)) {
        value.integer = record.timestamp->count() < 0 ? std::numeric_limits<std::int64_t>::min() / 2
                                                      : std::numeric_limits<std::int64_t>::max();
    }
    return value;
}

}  // namespace

ConfluentFrame read_confluent_frame(const Record& record, MessageIndex message_index) {
    expects(record.payload.has_value(), "a record that is decoded has a payload");
    ConfluentFrame unframed;
    unframed.payload = *record.payload;
    if (std::optional<std::string_view> id = last_header(record, "__value_schema_id")) {
        if (id->size() < magic_and_guid || id->front() != '\1') {
            unframed.fault = "the header `__value_schema_id` is not byte 1 and a 16-byte GUID";
            return unframed;
        }
        unframed.guid = id->substr(1, magic_and_guid - 1);
        unframed.after_guid = id->substr(magic_and_guid);
        if (message_index == MessageIndex::present) take_message_indexes(unframed);
        return unframed;
    }
    if (unframed.payload.size() < magic_and_id || unframed.payload.front() != '\0') {
        unframed.fault =
            "the payload has no Confluent frame (byte 0 and a schema id); is `framing: none` "
            "right?";
        return unframed;
    }
    for (const char byte : unframed.payload.substr(1, magic_and_id - 1)) {
        unframed.schema = unframed.schema << 8 | static_cast<std::uint8_t>(byte);
    }
    unframed.payload.remove_prefix(magic_and_id);
    if (message_index == MessageIndex::present) take_message_indexes(unframed);
    return unframed;
}

void take_message_indexes(ConfluentFrame& frame) {
    if (frame.guid.empty()) {
        frame.fault = take_indexes(frame.payload, frame);
    } else if (!frame.after_guid.empty()) {
        frame.fault = take_indexes(frame.after_guid, frame);
    }
}

SchemaId schema_id(const ConfluentFrame& frame) {
    if (frame.guid.empty()) return {.number = frame.schema, .guid = {}};
    return {.number = 0, .guid = uuid_text(frame.guid)};
}

std::unique_ptr<Decoder> make_decoder(const FormatOptions& options,
                                      std::vector<std::string> paths) {
    switch (options.format) {
        case Format::json: return make_json_decoder(options, paths);
        case Format::protobuf: return make_protobuf_decoder(options, paths);
        case Format::raw: return std::make_unique<RawDecoder>(options, paths);
        case Format::avro:
            throw FormatError("the format avro needs a schema registry, which holds the schemas");
    }
    throw FormatError("unknown format");
}

Decoded Decoder::decode(const Record& record, std::span<Value> values,
                        std::pmr::memory_resource& arena) {
    expects(record.payload.has_value(), "a record that is decoded has a payload");
    if (framing_ == Framing::none) {
        ConfluentFrame frame;
        frame.payload = *record.payload;
        return read(frame, values, arena);
    }
    const ConfluentFrame frame = read_confluent_frame(record, index_);
    if (frame.fault != nullptr) return undecodable(frame.fault);
    return read(frame, values, arena);
}

std::string uuid_text(std::string_view bytes) {
    Digest digest;
    expects(bytes.size() == digest.bytes.size(), "a UUID has 16 bytes");
    std::ranges::copy(bytes, digest.bytes.begin());
    return uuid_text(digest);
}

bool is_utf8(std::string_view bytes) { return simdjson::validate_utf8(bytes.data(), bytes.size()); }

Value text_or_bytes(std::string_view bytes) {
    return {is_utf8(bytes) ? Value::Kind::text : Value::Kind::bytes, {}, bytes};
}

Value record_value(const FieldSource& source, const Record& record, std::string_view topic,
                   std::pmr::memory_resource& arena) {
    switch (source.kind) {
        case FieldSource::Kind::header: return header(record, source.text);
        case FieldSource::Kind::record_key: return text_or_null(record.key);
        case FieldSource::Kind::payload: return text_or_null(record.payload);
        case FieldSource::Kind::metadata: return metadata(source.text, record, topic, arena);
        case FieldSource::Kind::constant: return text_or_bytes(keep(arena, source.text));
        case FieldSource::Kind::field:
        case FieldSource::Kind::key: break;
    }
    expects(false, "a field is read by the decoder, and the key by its extraction");
    return {};
}

void check_source(const FieldSource& source) {
    const bool metadata = source.kind == FieldSource::Kind::metadata;
    if (!metadata && source.kind != FieldSource::Kind::key) return;
    const std::vector<std::string> known =
        metadata ? std::vector<std::string>{"topic", "partition", "offset", "timestamp"}
                 : std::vector<std::string>{"text", "digest", "downstream"};
    if (std::ranges::find(known, source.text) != known.end()) return;
    throw FormatError(metadata ? "there is no metadata `" + source.text +
                                     "`, only topic, partition, offset and timestamp" +
                                     did_you_mean(source.text, known)
                               : "the key has no `" + source.text +
                                     "`, only text, digest and downstream" +
                                     did_you_mean(source.text, known));
}

}  // namespace onceward
