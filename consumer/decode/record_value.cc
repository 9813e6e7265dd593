#include "consumer/decode/record_value.h"

#include <algorithm>
#include <limits>

#include "consumer/decode/decoder.h"
#include "dedup/base/expects.h"
#include "dedup/base/nearest_name.h"

namespace onceward {
namespace {

Value text_or_bytes(std::string_view bytes) {
    return {is_utf8(bytes) ? Value::Kind::text : Value::Kind::bytes, {}, bytes};
}

Value text_or_null(const std::optional<std::string_view>& bytes) {
    return bytes ? text_or_bytes(*bytes) : Value{Value::Kind::null, {}, {}};
}

Value header(const Record& record, std::string_view name) {
    const std::optional<std::string_view> last = last_header(record, name);
    const bool is_there =
        std::ranges::find(record.headers, name, &Header::name) != record.headers.end();
    return is_there ? text_or_null(last) : Value{};
}

Value integer(std::int64_t number) { return {.kind = Value::Kind::integer, .integer = number}; }

Value metadata(std::string_view name, const Record& record, std::string_view topic,
               std::pmr::memory_resource& arena) {
    if (name == "partition") return integer(record.partition.raw());
    if (name == "offset") return integer(record.offset.raw());
    if (name == "topic") return text_or_bytes(keep(arena, topic));
    Value value;
    value.kind = Value::Kind::null;
    if (record.timestamp) {
        value.kind = Value::Kind::timestamp;
        // A producer's nanoseconds, taken for milliseconds: no time at all, and refused as such.
        if (__builtin_mul_overflow(record.timestamp->count(), 1000, &value.integer)) {
            value.integer = record.timestamp->count() < 0
                                ? std::numeric_limits<std::int64_t>::min() / 2
                                : std::numeric_limits<std::int64_t>::max();
        }
    }
    return value;
}

}  // namespace

Value record_value(const FieldSource& source, const Record& record, std::string_view topic,
                   std::pmr::memory_resource& arena) {
    switch (source.kind) {
        case FieldSource::Kind::header: return header(record, source.text);
        case FieldSource::Kind::record_key: return text_or_null(record.key);
        case FieldSource::Kind::payload: return text_or_null(record.payload);
        case FieldSource::Kind::metadata: return metadata(source.text, record, topic, arena);
        case FieldSource::Kind::constant: return text_or_bytes(keep(arena, source.text));
        case FieldSource::Kind::field: break;
    }
    expects(false, "a field of the payload is read by the decoder");
    return {};
}

void check_source(const FieldSource& source) {
    const std::vector<std::string> known = {"topic", "partition", "offset", "timestamp"};
    if (source.kind != FieldSource::Kind::metadata ||
        std::ranges::find(known, source.text) != known.end()) {
        return;
    }
    throw FormatError("there is no metadata `" + source.text +
                      "`, only topic, partition, offset and timestamp" +
                      did_you_mean(source.text, known));
}

}  // namespace onceward
