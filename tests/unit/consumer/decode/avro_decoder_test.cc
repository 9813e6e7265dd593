// Avro payloads. The samples are fastavro's, made by avro/make_samples.py.

#include <bit>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <tuple>

#include "dedup/base/text.h"
#include "tests/unit/consumer/decode/schemas.h"

namespace onceward::test {
namespace {

using Kind = Value::Kind;
using namespace std::string_literals;

std::string from_hex(const std::string& digits) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
        bytes += static_cast<char>(hex_value(digits[i]) * 16 + hex_value(digits[i + 1]));
    }
    return bytes;
}

std::pair<std::string, std::string> shown(const Value& value) {
    switch (value.kind) {
        case Kind::absent: return {"absent", ""};
        case Kind::null: return {"null", ""};
        case Kind::boolean: return {"boolean", value.boolean ? "true" : "false"};
        case Kind::integer: return {"integer", std::to_string(value.integer)};
        case Kind::natural: return {"natural", std::to_string(value.natural)};
        case Kind::real: {
            if (std::isnan(value.real)) return {"real", "nan"};
            std::string bytes;
            for (int shift = 56; shift >= 0; shift -= 8) {
                bytes += static_cast<char>(std::bit_cast<std::uint64_t>(value.real) >> shift);
            }
            return {"real", hex(bytes)};
        }
        case Kind::number: return {"number", std::string(value.text)};
        case Kind::text: return {"text", std::string(value.text)};
        case Kind::bytes: return {"bytes", hex(value.text)};
        case Kind::json: return {"json", std::string(value.text)};
        case Kind::timestamp:
            return {"timestamp", std::to_string(value.integer) +
                                     (value.text.empty() ? "" : " " + std::string(value.text))};
    }
    return {};
}

class Avro {
  public:
    Avro(std::string schema, std::vector<std::string> paths, Envelope envelope = Envelope::none)
        : decoding_(by_registry(Format::avro, envelope), std::move(paths)) {
        decoding_.schemas->avro(1, std::move(schema));
    }
    const Decoded& decode(std::string_view payload) { return decoding_.decode(framed(1, payload)); }
    const Value& operator[](std::size_t index) const { return decoding_[index]; }
    std::string reason() const { return decoding_.reason(); }
    // What is wrong with the payload; '' if it reads well.
    std::string fault(std::string_view payload) {
        decode(payload);
        std::string text = reason();
        const std::string before = "the payload is not the Avro that its schema describes: ";
        if (text.starts_with(before)) text = text.substr(before.size());
        return text.substr(0, text.find(" (schema 1)"));
    }

  private:
    RegistryDecoding decoding_;
};

constexpr const char* row =
    R"({"type":"record","name":"Row","fields":[{"name":"id","type":"long"},
        {"name":"tags","type":{"type":"map","values":"string"}},
        {"name":"lines","type":{"type":"array","items":{"type":"record","name":"Line",
            "fields":[{"name":"sku","type":"string"}]}}}]})";

TEST(AvroDecoder, EachSampleHasTheValueThatFastavroReads) {
    std::ifstream file(ONCEWARD_SOURCE_FOLDER "/tests/unit/consumer/decode/avro/samples.json");
    const nlohmann::json samples = nlohmann::json::parse(file);
    ASSERT_GT(samples.size(), 100U);
    for (const nlohmann::json& sample : samples) {
        const std::string payload = from_hex(sample["hex"]);
        Avro avro(sample["schema"], {sample["path"], "/not/there"});
        const std::string name = sample["name"].get<std::string>() + " " + sample["hex"].dump();
        EXPECT_EQ(avro.fault(payload), "") << name;
        const auto [kind, text] = shown(avro[0]);
        EXPECT_EQ(kind, sample["kind"]) << name;
        if (kind == "json") {
            // 2.0 and 2 are one number, and written differently.
            EXPECT_EQ(nlohmann::json::parse(text),
                      nlohmann::json::parse(sample["text"].get<std::string>()))
                << name;
        } else {
            EXPECT_EQ(text, sample["text"]) << name;
        }
        EXPECT_EQ(avro[1].kind, Kind::absent) << name;
        // No beginning of a payload reads as a whole one, and nothing may follow it.
        for (std::size_t size = 0; size < payload.size(); ++size) {
            EXPECT_NE(avro.fault(payload.substr(0, size)), "") << name << size;
        }
        EXPECT_EQ(avro.fault(payload + "x"), "bytes follow its end") << name;
    }
}

TEST(AvroDecoder, ARecordAsJsonKeepsEachDigit) {
    Avro avro(R"({"type":"record","name":"R","fields":[
                {"name":"n","type":"long"},{"name":"x","type":"double"},
                {"name":"d","type":
                    {"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},
                {"name":"b","type":"bytes"},{"name":"u","type":["null","string"]}]})",
              {""});
    std::string payload("\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
    payload += std::string("\0\0\0\0\0\0\0\x40", 8) + "\x02\x96" + "\x04\x00\xff"s + "\x02\x02\""s;
    EXPECT_EQ(avro.fault(payload), "");
    EXPECT_EQ(avro[0].text, R"({"n":9223372036854775807,"x":2,"d":-1.06,"b":"AP8=","u":"\""})");
}

TEST(AvroDecoder, PathsLeadIntoMapsAndLists) {
    Avro avro(row, {"/tags/b", "/lines/1/sku", "/lines/2/sku", "/tags", "/id/x", "/lines/1", ""});
    EXPECT_EQ(avro.fault("\x02\x04\x02"
                         "a\x02"
                         "1\x02"
                         "b\x02"
                         "2\x00\x04\x02"
                         "x\x02"
                         "y\x00"sv),
              "");
    EXPECT_EQ(avro[0].text, "2");
    EXPECT_EQ(avro[1].text, "y");
    EXPECT_EQ(avro[2].kind, Kind::absent);
    EXPECT_EQ(avro[3].text, R"({"a":"1","b":"2"})");
    EXPECT_EQ(avro[4].kind, Kind::absent);
    EXPECT_EQ(avro[5].text, R"({"sku":"y"})");
    EXPECT_EQ(avro[6].text,
              R"({"id":1,"tags":{"a":"1","b":"2"},"lines":[{"sku":"x"},{"sku":"y"}]})");
}

TEST(AvroDecoder, AWantedKeyOfAMapThatIsThereTwiceIsRefused) {
    constexpr auto twice =
        "\x02\x04\x02"
        "a\x02"
        "1\x02"
        "a\x02"
        "2\x00\x00"sv;
    EXPECT_EQ(Avro(row, {"/tags/a"}).fault(twice),
              "a wanted key of a map is there twice, in `/tags`");
    EXPECT_EQ(Avro(row, {"/id"}).fault(twice), "");
}

TEST(AvroDecoder, ABlockMaySayItsSizeAndThenHasIt) {
    const std::string list = R"({"type":"array","items":"int"})";
    Avro avro(list, {""});
    EXPECT_EQ(avro.fault("\x03\x04\x02\x04\x02\x06\x00"sv), "");
    EXPECT_EQ(avro[0].text, "[1,2,3]");
    EXPECT_EQ(avro.fault("\x03\x06\x02\x04\x00\x00"sv), "a block has another size");
    EXPECT_EQ(avro.fault("\x03\x7e\x02\x04\x00"sv), "a block has another size");
    EXPECT_EQ(avro.fault("\x03\x03\x02\x04\x00"sv), "a block has another size");
    EXPECT_EQ(avro.fault("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02\x00"sv),
              "a block is too long");
}

TEST(AvroDecoder, WhatIsSkippedIsCheckedToo) {
    const auto fault = [](const std::string& type, std::string_view bytes) {
        const std::string schema = R"({"type":"record","name":"R","fields":[{"name":"a","type":)" +
                                   type + R"(},{"name":"b","type":"int"}]})";
        const std::string payload = std::string(bytes) + "\x02";
        const std::string skipped = Avro(schema, {"/b"}).fault(payload);
        EXPECT_EQ(Avro(schema, {"/a"}).fault(payload), skipped);
        return skipped;
    };
    EXPECT_EQ(fault("\"string\"", "\x02\xff"sv), "a string is not UTF-8, in `/a`");
    EXPECT_EQ(fault("\"string\"", "\x01"sv), "a length is negative, in `/a`");
    EXPECT_EQ(fault("\"bytes\"", "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv),
              "it ends too early, in `/a`");
    EXPECT_EQ(fault("\"boolean\"", "\x02"sv), "a boolean is neither 0 nor 1, in `/a`");
    EXPECT_EQ(fault("\"int\"", "\x80\x80\x80\x80\x10"sv), "an int has more than 32 bits, in `/a`");
    EXPECT_EQ(fault("\"long\"", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"sv),
              "a number has more than 64 bits, in `/a`");
    EXPECT_EQ(fault("[\"null\",\"int\"]", "\x04"sv),
              "a union has a branch that its schema lacks, in `/a`");
    EXPECT_EQ(fault("[\"null\",\"int\"]", "\x01"sv),
              "a union has a branch that its schema lacks, in `/a`");
    const std::string symbols = R"({"type":"enum","name":"E","symbols":["A"]})";
    EXPECT_EQ(fault(symbols, "\x02"sv), "an enum has a symbol that its schema lacks, in `/a`");
    EXPECT_EQ(fault(symbols, "\x01"sv), "an enum has a symbol that its schema lacks, in `/a`");
    EXPECT_EQ(fault(R"({"type":"map","values":"int"})", "\x02\x02\xff\x02\x00"sv),
              "a string is not UTF-8, in `/a`");
}

TEST(AvroDecoder, TimesOutsideTheirRangesAreRefused) {
    const auto fault = [](const std::string& type, const std::string& logical,
                          std::string_view bytes) {
        return Avro(R"({"type":")" + type + R"(","logicalType":")" + logical + "\"}", {""})
            .fault(bytes);
    };
    const std::string year = "a date or time is outside the years 1 to 9999";
    EXPECT_EQ(fault("int", "date", "\xff\xff\xff\xff\x0f"sv), year);
    EXPECT_EQ(fault("int", "date", "\xfe\xff\xff\xff\x0f"sv), year);
    EXPECT_EQ(fault("int", "time-millis", "\x01"sv), "a time of day is not within a day");
    EXPECT_EQ(fault("int", "time-millis", "\x80\xf0\xb2\x52"sv),
              "a time of day is not within a day");
    constexpr auto last = "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv;
    EXPECT_EQ(fault("long", "time-micros", last), "a time of day is not within a day");
    EXPECT_EQ(fault("long", "timestamp-millis", last), year);
    EXPECT_EQ(fault("long", "local-timestamp-millis", last), year);
    EXPECT_EQ(fault("long", "local-timestamp-micros", last), year);
    EXPECT_EQ(fault("long", "timestamp-micros", last), "") << "the column's range decides";
}

TEST(AvroDecoder, ADecimalOfFourThousandBytesIsReadAndALongerOneRefused) {
    Avro avro(R"({"type":"bytes","logicalType":"decimal","precision":9,"scale":0})", {""});
    EXPECT_EQ(avro.fault("\x80\x40" + std::string(4096, '\x7f')), "");
    EXPECT_EQ(avro[0].text.size(), 9864U);
    EXPECT_EQ(avro.fault("\x82\x40" + std::string(4097, '\x7f')), "a decimal is too long");
    EXPECT_EQ(avro.fault("\x00"sv), "");
    EXPECT_EQ(avro[0].text, "0");
}

TEST(AvroDecoder, ALogicalTypeThatDoesNotFitItsTypeIsIgnored) {
    const auto kind = [](const std::string& schema, std::string_view bytes) {
        Avro avro(schema, {""});
        EXPECT_EQ(avro.fault(bytes), "");
        return avro[0].kind;
    };
    EXPECT_EQ(kind(R"({"type":"string","logicalType":"date"})", "\x02x"), Kind::text);
    EXPECT_EQ(kind(R"({"type":"long","logicalType":"date"})", "\x02"), Kind::integer);
    EXPECT_EQ(kind(R"({"type":"bytes","logicalType":"decimal"})", "\x02x"), Kind::bytes);
    EXPECT_EQ(kind(R"({"type":"bytes","logicalType":"decimal","precision":2,"scale":3})", "\x02x"),
              Kind::bytes);
    EXPECT_EQ(kind(R"({"type":"fixed","name":"F","size":1,"logicalType":"uuid"})", "x"),
              Kind::bytes);
}

// Debian's avro-c ends the process at this payload.
TEST(AvroDecoder, DeepPayloadsAreRefusedBeforeTheStackEnds) {
    const std::string list =
        R"({"type":"record","name":"L","fields":[{"name":"n","type":["null","L"]}]})";
    const std::string deep = std::string(4'000'000, '\2') + '\0';
    for (const char* path : {"/n/n/x", "", "/x"}) {
        EXPECT_TRUE(Avro(list, {path}).fault(deep).starts_with("it nests too deep")) << path;
    }
    EXPECT_EQ(Avro(list, {""}).fault(std::string(200, '\2') + '\0'), "");
}

TEST(AvroDecoder, ValuesWithoutBytesAreBounded) {
    const std::string nulls = R"({"type":"array","items":"null"})";
    EXPECT_EQ(Avro(nulls, {"/0"}).fault("\x80\x80\x80\x80\x40\x00"sv),
              "it has far more values than bytes");
    EXPECT_EQ(Avro(nulls, {""}).fault("\x80\x80\x80\x80\x40\x00"sv),
              "it has far more values than bytes");
    EXPECT_EQ(Avro(nulls, {"/0"}).fault("\x14\x00"sv), "");
    std::string wide = "\"null\"";
    for (int i = 0; i < 40; ++i) {
        const std::string name = "R" + std::to_string(i);
        wide = R"({"type":"record","name":")" + name + R"(","fields":[{"name":"a","type":)" + wide +
               R"(},{"name":"b","type":)" +
               (i == 0 ? "\"null\"" : "\"R" + std::to_string(i - 1) + "\"") + "}]}";
    }
    EXPECT_TRUE(Avro(wide, {"/a"}).fault("").starts_with("it has far more values than bytes"));
}

TEST(AvroDecoder, APayloadThatIsNoRecordHasNoFields) {
    EXPECT_EQ(Avro("\"long\"", {"/id"}).fault("\x02"),
              "the payload is not a record and has none of the wanted fields");
    const std::string maybe =
        R"(["null",{"type":"record","name":"R","fields":[{"name":"id","type":"int"}]}])";
    EXPECT_EQ(Avro(maybe, {"/id"}).fault("\x00"sv),
              "the payload is not a record and has none of the wanted fields");
    EXPECT_EQ(Avro(maybe, {"/x"}).fault("\x02\x02"), "");
}

TEST(AvroDecoder, DebeziumsEventsAreUnwrapped) {
    const std::string event =
        R"({"type":"record","name":"Envelope","fields":[
            {"name":"before","type":["null",{"type":"record","name":"Value","fields":[
                {"name":"id","type":"int"}]}],"default":null},
            {"name":"after","type":["null","Value"],"default":null},
            {"name":"op","type":"string"}]})";
    Avro avro(event, {"/id"}, Envelope::debezium);
    EXPECT_EQ(avro.decode("\x02\x02\x02\x04\x02u"sv).operation, Operation::upsert);
    EXPECT_EQ(avro.fault("\x02\x02\x02\x04\x02u"sv), "");
    EXPECT_EQ(avro[0].integer, 2);
    EXPECT_EQ(avro.decode("\x02\x02\x00\x02"
                          "d"sv)
                  .operation,
              Operation::remove);
    EXPECT_EQ(avro[0].integer, 1);
    EXPECT_EQ(avro.fault("\x00\x00\x02"
                         "c"sv),
              "the change event has no row `after`");
    EXPECT_EQ(avro.fault("\x00\x00\x02t"sv),
              "a Debezium truncate (`op` t) has no row; nothing was truncated");
}

TEST(AvroDecoder, NamesOfConnectCountWhereNoLogicalTypeDoes) {
    const auto read = [](const std::string& type, std::string_view payload) {
        Avro avro(R"({"type":"record","name":"R","fields":[{"name":"v","type":)" + type + "}]}",
                  {"/v", ""});
        EXPECT_EQ(avro.fault(payload), "") << type;
        return std::pair(shown(avro[0]), std::string(avro[1].text));
    };
    const auto typed = [](const std::string& type, const std::string& name) {
        return R"({"type":")" + type + R"(","connect.version":1,"connect.name":")" + name + "\"}";
    };
    using Shown = std::pair<std::string, std::string>;
    auto [value, row] = read(typed("int", "io.debezium.time.Date"), "\x02");
    EXPECT_EQ(value, Shown("text", "1970-01-02"));
    EXPECT_EQ(row, R"({"v":"1970-01-02"})");
    EXPECT_EQ(read(typed("long", "io.debezium.time.MicroTime"), "\x02").first,
              Shown("text", "00:00:00.000001"));
    EXPECT_EQ(read(typed("long", "io.debezium.time.NanoTimestamp"), "\x02").first,
              Shown("text", "1970-01-01T00:00:00.000000001"));
    EXPECT_EQ(read(typed("long", "org.apache.kafka.connect.data.Timestamp"), "\x02").first,
              Shown("timestamp", "1000"));
    std::tie(value, row) = read(typed("string", "io.debezium.data.Json"), "\x10{\"a\": 1}");
    EXPECT_EQ(value, Shown("json", R"({"a": 1})"));
    EXPECT_EQ(row, R"({"v":{"a": 1}})");
    EXPECT_EQ(read(R"({"type":"bytes","connect.name":"org.apache.kafka.connect.data.Decimal",)"
                   R"("connect.parameters":{"scale":"2"}})",
                   "\x04\x04\xd2")
                  .first,
              Shown("number", "12.34"));
    std::tie(value, row) =
        read(R"({"type":"record","name":"VariableScaleDecimal","namespace":"io.debezium.data",)"
             R"("fields":[{"name":"scale","type":"int"},{"name":"value","type":"bytes"}],)"
             R"("connect.name":"io.debezium.data.VariableScaleDecimal"})",
             "\x04\x04\x04\xd2");
    EXPECT_EQ(value, Shown("number", "12.34"));
    EXPECT_EQ(row, R"({"v":12.34})");
    EXPECT_EQ(read(typed("string", "io.debezium.time.Date"), "\x02x").first, Shown("text", "x"));
    EXPECT_EQ(read(typed("int", "io.debezium.data.Json"), "\x02").first, Shown("integer", "1"));
}

TEST(AvroDecoder, ATypedValueOfConnectThatIsNoneIsRejected) {
    const auto fault = [](const std::string& type, std::string_view payload) {
        Avro avro(R"({"type":"record","name":"R","fields":[{"name":"v","type":)" + type + "}]}",
                  {"/v"});
        return avro.fault(payload);
    };
    EXPECT_NE(fault(R"({"type":"string","connect.name":"io.debezium.data.Json"})", "\x02{")
                  .find("is not JSON"),
              std::string::npos);
    EXPECT_NE(fault(R"({"type":"long","connect.name":"io.debezium.time.MicroTime"})", "\x01")
                  .find("date or time"),
              std::string::npos);
}

}  // namespace
}  // namespace onceward::test
