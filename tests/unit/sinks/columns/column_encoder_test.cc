#include "sinks/columns/column_encoder.h"

#include <gtest/gtest.h>

#include <chrono>

#include "dedup/postgres/binary.h"
#include "sinks/dead_letters/dead_letter_sink.h"

namespace onceward {
namespace {

Value text(std::string_view text) {
    Value value;
    value.kind = Value::Kind::text;
    value.text = text;
    return value;
}

ColumnType type_of(TypeKind kind) {
    ColumnType type;
    type.kind = kind;
    return type;
}

TEST(ColumnEncoder, AbsentAndNullAreNullInEveryType) {
    for (const TypeKind kind : {TypeKind::boolean, TypeKind::int4, TypeKind::numeric,
                                TypeKind::text, TypeKind::jsonb, TypeKind::array}) {
        for (const Value::Kind nothing : {Value::Kind::absent, Value::Kind::null}) {
            std::string out;
            Value value;
            value.kind = nothing;
            EXPECT_EQ(append_value(value, type_of(kind), Provenance::field, out), "");
            EXPECT_EQ(out, "\xff\xff\xff\xff");
        }
    }
}

TEST(ColumnEncoder, TheLengthCountsTheBytesBehindIt) {
    std::string out = "before";
    EXPECT_EQ(
        append_value(text(std::string(300, 'x')), type_of(TypeKind::jsonb), Provenance::field, out),
        "");
    std::string expected = "before";
    binary::put32(expected, 303);
    expected += "\1\"" + std::string(300, 'x') + "\"";
    EXPECT_EQ(out, expected);
}

TEST(ColumnEncoder, AValueOfEveryKindIsTakenOrRefusedByEveryType) {
    for (int kind = 0; kind <= static_cast<int>(TypeKind::array); ++kind) {
        ColumnType type = type_of(static_cast<TypeKind>(kind));
        type.element = std::make_shared<const ColumnType>(type_of(TypeKind::int4));
        for (int what = 0; what <= static_cast<int>(Value::Kind::timestamp); ++what) {
            Value value = text("[\"no\"]");
            value.kind = static_cast<Value::Kind>(what);
            value.integer = 78;  // no boolean: the sanitizer tells who reads it as one
            if (value.kind == Value::Kind::boolean) value.boolean = true;
            std::string out;
            const Misfit misfit = append_value(value, type, Provenance::field, out);
            if (misfit.empty()) {
                EXPECT_GE(out.size(), 4u) << kind << " " << what;
            }
        }
    }
}

TEST(ColumnEncoder, AFloatingPointNumberHasOneSignAtMost) {
    for (const TypeKind kind : {TypeKind::float4, TypeKind::float8}) {
        std::string out;
        EXPECT_EQ(append_value(text("+5"), type_of(kind), Provenance::field, out), "");
        EXPECT_EQ(append_value(text("-5"), type_of(kind), Provenance::field, out), "");
        for (const char* two : {"+-5", "++5", "--5", "-+5", "+"}) {
            EXPECT_NE(append_value(text(two), type_of(kind), Provenance::field, out), "") << two;
        }
    }
}

TEST(ColumnEncoder, BlanksBeyondAVarcharsLengthAreForgiven) {
    ColumnType type = type_of(TypeKind::text);
    type.max_characters = 2;
    std::string out;
    EXPECT_EQ(append_value(text("\u00e4\u00f6   "), type, Provenance::field, out), "");
    EXPECT_NE(append_value(text("\u00e4\u00f6 x"), type, Provenance::field, out), "");
}

TEST(HeadersJson, NamesAreEscaped) {
    const std::vector<Header> headers{{"a\"\\\n", "x"}};
    EXPECT_EQ(headers_json(headers), R"([{"name": "a\"\\\u000a", "value": "eA=="}])");
}

TEST(DeadLetters, APlaceIsOneOffsetOrTheFirstAndTheLastOfABatch) {
    const std::vector<ClaimPlace> places{
        {"g\"", "t", Partition{1}, Offset{2}, Offset{2}},
        {"", "", Partition{0}, Offset{3}, Offset{9}},
    };
    EXPECT_EQ(places_json(places),
              R"([{"group": "g\"", "topic": "t", "partition": 1, "offset": 2}, )"
              R"({"group": null, "topic": null, "partition": 0, "offset": 3, "last_offset": 9}])");
}

// A benchmark in passing, never a condition: rows/s depend on the machine.
TEST(ColumnEncoder, FiveColumnsARowTakeMicrosecondsAtMost) {
    const std::vector<std::pair<TypeKind, Value>> row{
        {TypeKind::int8,
         [] {
             Value v = text("123456789012");
             v.kind = Value::Kind::number;
             return v;
         }()},
        {TypeKind::uuid, text("6f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0")},
        {TypeKind::numeric,
         [] {
             Value v = text("12345.67");
             v.kind = Value::Kind::number;
             return v;
         }()},
        {TypeKind::text, text("a customer of middling length")},
        {TypeKind::timestamptz, text("2024-05-06T07:08:09.123456Z")}};
    std::vector<ColumnType> types;
    for (const auto& [kind, value] : row) types.push_back(type_of(kind));
    constexpr int rows = 200'000;
    std::string out;
    const auto start = std::chrono::steady_clock::now();
    for (int n = 0; n < rows; ++n) {
        out.clear();
        for (std::size_t at = 0; at < row.size(); ++at) {
            ASSERT_EQ(append_value(row[at].second, types[at], Provenance::field, out), "");
        }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    RecordProperty("rows_per_second", static_cast<int>(rows / took.count()));
    std::printf("%.0f rows/s\n", rows / took.count());
    EXPECT_EQ(out.size(), 5 * 4 + 8 + 16 + (8 + 3 * 2) + 29 + 8);
}

}  // namespace
}  // namespace onceward
