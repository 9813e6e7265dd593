#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "consumer/produce/ndjson_csv_reader.h"

namespace onceward {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> all(const RecordReader& reader) {
    std::vector<std::string> records;
    while (std::optional<InputRecord> record = reader()) records.push_back(record->json);
    return records;
}

std::vector<std::string> csv(const std::string& text) {
    std::istringstream input(text);
    return all(read_csv(input));
}

std::string error_of(const std::string& text) {
    std::istringstream input(text);
    try {
        all(read_csv(input));
    } catch (const InputError& error) {
        return error.what();
    }
    return "no error";
}

TEST(Ndjson, EveryLineIsARecordAndEmptyOnesAreNone) {
    std::istringstream input("\xEF\xBB\xBF{\"a\":1}\r\n\n  \n{\"a\":2}");
    EXPECT_THAT(all(read_ndjson(input)), ElementsAre("{\"a\":1}", "{\"a\":2}"));
}

TEST(Ndjson, RecordsKnowTheirLine) {
    std::istringstream input("\n\n{}\n");
    const auto reader = read_ndjson(input);
    EXPECT_EQ(reader()->line, 3);
}

TEST(Csv, FieldsAreNamedByTheFirstLine) {
    EXPECT_THAT(csv("id,name\n1,Ada\n007,Bob\n"),
                ElementsAre(R"({"id":"1","name":"Ada"})", R"({"id":"007","name":"Bob"})"));
}

TEST(Csv, QuotesHoldSeparatorsQuotesAndLineBreaks) {
    EXPECT_THAT(csv("a,b\r\n\"x,\"\"y\"\"\",\"one\r\ntwo\"\r\n"),
                ElementsAre(R"({"a":"x,\"y\"","b":"one\u000atwo"})"));
}

TEST(Csv, AnEmptyFieldIsLeftOutAndAQuotedOneIsEmptyText) {
    EXPECT_THAT(csv("a,b\n,\"\"\n"), ElementsAre(R"({"b":""})"));
}

TEST(Csv, BackslashesAndControlCharactersAreEscaped) {
    EXPECT_THAT(csv("a\n\\\t\n"), ElementsAre(R"({"a":"\\\u0009"})"));
}

TEST(Csv, ALineBehindAQuotedLineBreakKeepsItsNumber) {
    std::istringstream input("a\n\"1\n2\"\n3\n");
    const auto reader = read_csv(input);
    EXPECT_EQ(reader()->line, 2);
    EXPECT_EQ(reader()->line, 4);
}

TEST(Csv, BadTextIsAnErrorWithItsLine) {
    EXPECT_THAT(error_of("a,b\n1,2\n3\n"), HasSubstr("line 3: 1 fields"));
    EXPECT_THAT(error_of("a\n\"open\n"), HasSubstr("line 2: a quote is never closed"));
    EXPECT_THAT(error_of("a\nx\"y\n"), HasSubstr("line 2: a quote is in the middle"));
    EXPECT_THAT(error_of("a\n\"x\"y\n"), HasSubstr("line 2: a quote is in the middle"));
    EXPECT_THAT(error_of("a\n\xFF\n"), HasSubstr("line 2: this is not UTF-8"));
    EXPECT_THAT(error_of("a,a\n"), HasSubstr("column a is there twice"));
    EXPECT_THAT(error_of("a,\n"), HasSubstr("a column has no name"));
    EXPECT_THAT(error_of(""), HasSubstr("the CSV is empty"));
}

TEST(Csv, TheReaderGoesOnBehindABadRecord) {
    std::istringstream input("a,b\n1\n2,3\n");
    const auto reader = read_csv(input);
    EXPECT_THROW(reader(), InputError);
    EXPECT_EQ(reader()->json, R"({"a":"2","b":"3"})");
}

}  // namespace
}  // namespace onceward
