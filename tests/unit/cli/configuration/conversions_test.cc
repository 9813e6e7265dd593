// `convert`, `default` and `lossy` in a configuration.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cli/configuration/texts.h"

namespace onceward::conversion_texts {

using test::all_findings;
using test::good_text;
using test::load;
using testing::HasSubstr;
using Kind = Conversion::Kind;

LoadResult with_column(const std::string& column) {
    return load(good_text("", "    sink: {table: payments, columns: {c: " + column + "}}\n"));
}

std::string findings(const std::string& column) { return all_findings(with_column(column)); }

TEST(Conversions, AreReadInTheirOrder) {
    const LoadResult result = with_column(
        "{field: /c, convert: [trim, {base64_decimal: {scale: 2}}], lossy: round, default: 0}");
    ASSERT_TRUE(result.findings.empty()) << all_findings(result);
    const auto& sink = std::get<TableSinkOptions>(result.configuration.topics[0].sink);
    const ColumnConversion& conversion = sink.columns[0].conversion;
    ASSERT_EQ(conversion.steps.size(), 2u);
    EXPECT_EQ(conversion.steps[0].kind, Kind::trim);
    EXPECT_EQ(conversion.steps[1].kind, Kind::base64_decimal);
    EXPECT_EQ(conversion.steps[1].scale, 2);
    EXPECT_EQ(conversion.lossy, Lossy::round);
    EXPECT_EQ(conversion.fallback, (ConstantValue{Value::Kind::number, "0"}));
}

TEST(Conversions, AMapsConstantsAreWhatYamlMeans) {
    const LoadResult result = with_column(
        "{field: /c, convert: {map: {a: 1.50, b: '2', c: true, d: ~, e: 007, f: x}, "
        "otherwise: ~}}");
    ASSERT_TRUE(result.findings.empty()) << all_findings(result);
    const auto& sink = std::get<TableSinkOptions>(result.configuration.topics[0].sink);
    const Conversion& map = sink.columns[0].conversion.steps.at(0);
    EXPECT_EQ(map.map.at("a"), (ConstantValue{Value::Kind::number, "1.50"}));
    EXPECT_EQ(map.map.at("b"), (ConstantValue{Value::Kind::text, "2"}));
    EXPECT_EQ(map.map.at("c"), (ConstantValue{Value::Kind::boolean, "true"}));
    EXPECT_EQ(map.map.at("d").kind, Value::Kind::null);
    EXPECT_EQ(map.map.at("e"), (ConstantValue{Value::Kind::text, "007"}));
    EXPECT_EQ(map.map.at("f"), (ConstantValue{Value::Kind::text, "x"}));
    EXPECT_EQ(map.otherwise->kind, Value::Kind::null);
}

TEST(Conversions, MistakesSayWhatToWrite) {
    EXPECT_THAT(findings("{field: /c, convert: epoch_milis}"), HasSubstr("`epoch_millis`"));
    EXPECT_THAT(findings("{field: /c, convert: []}"), HasSubstr("list is empty"));
    EXPECT_THAT(findings("{field: /c, convert: map}"), HasSubstr("needs to know more"));
    EXPECT_THAT(findings("{field: /c, convert: {trim: 1}}"), HasSubstr("has no argument"));
    EXPECT_THAT(findings("{field: /c, convert: {cast: int}}"), HasSubstr("`integer`"));
    EXPECT_THAT(findings("{field: /c, convert: {base64_decimal: 2}}"), HasSubstr("{scale: 2}"));
    EXPECT_THAT(findings("{field: /c, convert: {base64_decimal: {scale: 2000}}}"),
                HasSubstr("-1000 to 1000"));
    EXPECT_THAT(findings("{field: /c, convert: {cast: text, map: {a: b}}}"),
                HasSubstr("has one name"));
    EXPECT_THAT(findings("{field: /c, convert: {cast: text, otherwise: b}}"),
                HasSubstr("belongs to a `map`"));
    EXPECT_THAT(findings("{field: /c, convert: {map: {}}}"), HasSubstr("not a mapping"));
    EXPECT_THAT(findings("{field: /c, lossy: rond}"), HasSubstr("`round`"));
    EXPECT_THAT(findings("{field: /c, default: ~}"), HasSubstr("Write a text"));
    EXPECT_THAT(findings("{field: /c, default: 1, required: true}"), HasSubstr("never missing"));
    EXPECT_THAT(findings("{field: /c, convert: [epoch_millis, trim]}"),
                HasSubstr("`trim` cannot follow `epoch_millis`"));
    EXPECT_THAT(findings("{metadata: timestamp, convert: trim}"), HasSubstr("cannot take"));
}

TEST(Conversions, ADocumentTakesWhatJsonCanHold) {
    const auto in_document = [](const std::string& member) {
        return all_findings(
            load(good_text("", "    sink: {function: f, columns: {c: " + member + "}}\n")));
    };
    EXPECT_EQ(in_document("{field: /c, convert: epoch_millis, default: none}"), "");
    EXPECT_THAT(in_document("{field: /c, convert: base64}"), HasSubstr("JSON document"));
    EXPECT_THAT(in_document("{field: /c, lossy: round}"), HasSubstr("every digit is kept"));
    const std::string outbox = all_findings(load(good_text(
        "", "    sink: {outbox: {topic: out, fields: {c: {field: /c, convert: base64}}, headers: "
            "{h: {field: /h, convert: base64}}}}\n")));
    EXPECT_THAT(outbox, HasSubstr("fields.c"));
    EXPECT_THAT(outbox, testing::Not(HasSubstr("headers.h")));
}

// `plan` and a reload compare them.
TEST(Conversions, AreAPartOfWhatAFileMeans) {
    const auto meaning = [](const std::string& column) {
        const LoadResult result = with_column(column);
        return std::string(
            result.configuration.values.at("topics[0].sink.columns").reveal());
    };
    const std::string plain = meaning("{field: /c}");
    EXPECT_EQ(plain, meaning("/c"));
    EXPECT_NE(plain, meaning("{field: /c, convert: trim}"));
    EXPECT_NE(plain, meaning("{field: /c, default: 1}"));
    EXPECT_NE(plain, meaning("{field: /c, lossy: round}"));
    EXPECT_NE(meaning("{field: /c, convert: {map: {a: b}}}"),
              meaning("{field: /c, convert: {map: {a: c}}}"));
    EXPECT_EQ(meaning("{field: /c, convert: trim}"), meaning("{field: /c, convert: [trim]}"));
}

}  // namespace onceward::conversion_texts
