// Avro's values in the bytes that PostgreSQL's columns take.

#include <gtest/gtest.h>

#include "consumer/decode/avro_decoder.h"
#include "dedup/base/text.h"
#include "sinks/columns/column_encoder.h"

namespace onceward::test {
namespace {

using namespace std::string_view_literals;

// The column's bytes in hex, after their length; or why the value does not fit.
std::string column(std::string schema, std::string_view payload, TypeKind kind) {
    WrittenSchema written;
    written.text = std::move(schema);
    const auto decoder = make_avro_decoder(written, {}, {""});
    std::pmr::monotonic_buffer_resource arena;
    std::array<Value, 1> values;
    ConfluentFrame frame;
    frame.payload = payload;
    const Decoded decoded = decoder->decode_unframed(frame, values, arena);
    if (decoded.rejection) return decoded.rejection->reason;
    ColumnType type;
    type.kind = kind;
    std::string out;
    const Misfit misfit = append_value(values[0], type, Provenance::field, out);
    return misfit.empty() ? hex(out.substr(4)) : std::string(misfit);
}

std::string logical(const std::string& type, const std::string& name) {
    return R"({"type":")" + type + R"(","logicalType":")" + name + "\"}";
}

TEST(AvroColumns, NumbersKeepEachDigit) {
    const std::string decimal =
        R"({"type":"bytes","logicalType":"decimal","precision":9,"scale":2})";
    EXPECT_EQ(column(decimal, "\x04\x04\xce"sv, TypeKind::numeric), "0002000000000002000c0bb8");
    EXPECT_EQ(column(decimal, "\x02\xfb"sv, TypeKind::numeric), "0001ffff4000000201f4");
    EXPECT_EQ(column(decimal, "\x04\x04\xce"sv, TypeKind::text), hex("12.30"));
    EXPECT_EQ(column("\"long\"", "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv, TypeKind::int8),
              "7fffffffffffffff");
    EXPECT_NE(column("\"long\"", "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv, TypeKind::int4),
              "7fffffff");
    EXPECT_EQ(column("\"double\"", "\0\0\0\0\0\0\xf8\x3f"sv, TypeKind::float8), "3ff8000000000000");
    EXPECT_EQ(column("\"boolean\"", "\1"sv, TypeKind::boolean), "01");
}

TEST(AvroColumns, DatesAndTimesHaveTheirTypes) {
    // 2024-05-31 is 8,917 days after 2000-01-01.
    EXPECT_EQ(column(logical("int", "date"), "\xc4\xb6\x02"sv, TypeKind::date), "000022d5");
    EXPECT_EQ(column(logical("int", "time-millis"), "\x02"sv, TypeKind::time), "00000000000003e8");
    EXPECT_EQ(column(logical("long", "time-micros"), "\x02"sv, TypeKind::time), "0000000000000001");
    const std::string at_1970 = "fffca2fec4c82000";
    const std::string a_millisecond_later = "fffca2fec4c823e8";
    for (const char* unit : {"timestamp-millis", "local-timestamp-millis"}) {
        EXPECT_EQ(column(logical("long", unit), "\0"sv, TypeKind::timestamp), at_1970);
        EXPECT_EQ(column(logical("long", unit), "\2"sv, TypeKind::timestamp), a_millisecond_later);
    }
    EXPECT_EQ(column(logical("long", "timestamp-micros"), "\0"sv, TypeKind::timestamptz), at_1970);
    EXPECT_EQ(column(logical("long", "timestamp-nanos"), "\0"sv, TypeKind::timestamptz), at_1970);
    EXPECT_EQ(column(logical("long", "local-timestamp-micros"), "\0"sv, TypeKind::timestamptz),
              "has no offset from UTC (such as Z), so it is not a point in time");
    EXPECT_EQ(column(logical("long", "timestamp-micros"), "\0"sv, TypeKind::text),
              hex("1970-01-01T00:00:00.000000Z"));
}

TEST(AvroColumns, BytesUuidsAndDocumentsHaveTheirTypes) {
    EXPECT_EQ(column("\"bytes\"", "\x04\x00\xff"sv, TypeKind::bytea), "00ff");
    EXPECT_EQ(column(R"({"type":"fixed","name":"F","size":16,"logicalType":"uuid"})",
                     "0123456789abcdef"sv, TypeKind::uuid),
              hex("0123456789abcdef"));
    EXPECT_EQ(column(R"({"type":"array","items":"int"})", "\x04\x02\x04\x00"sv, TypeKind::json),
              hex("[1,2]"));
    EXPECT_EQ(column(R"({"type":"enum","name":"E","symbols":["A","B"]})", "\x02"sv, TypeKind::text),
              hex("B"));
    EXPECT_EQ(column(R"(["null","int"])", "\0"sv, TypeKind::int4), "");
}

}  // namespace
}  // namespace onceward::test
