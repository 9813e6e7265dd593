#include "consumer/decode/avro_schema.h"

#include <gtest/gtest.h>

#include "consumer/decode/decoder.h"

namespace onceward::test {
namespace {

using Type = AvroSchema::Type;

AvroSchema schema(std::string text, std::vector<WrittenSchema::Reference> references = {}) {
    return AvroSchema(WrittenSchema{SchemaLanguage::avro, std::move(text), std::move(references)});
}

std::string fault(std::string text, std::vector<WrittenSchema::Reference> references = {}) {
    try {
        schema(std::move(text), std::move(references));
    } catch (const FormatError& error) {
        return error.what();
    }
    return "";
}

TEST(AvroSchema, AReferenceDefinesTheTypesThatTheSchemaUses) {
    const std::string money =
        R"({"type":"record","name":"Money","namespace":"a","fields":[{"name":"n","type":"int"}]})";
    const std::string line =
        R"({"type":"record","name":"a.Line","fields":[{"name":"price","type":"Money"}]})";
    const std::string order =
        R"({"type":"record","name":"b.Order","fields":[{"name":"line","type":"a.Line"},
            {"name":"all","type":"a.Money"}]})";
    const AvroSchema made = schema(order, {{"a.Money", money}, {"line.avsc", line}});
    const AvroSchema::Node& root = made.node(made.root());
    const AvroSchema::Node& inner = made.node(root.children.at(0));
    EXPECT_EQ(inner.names.at(0), "price");
    EXPECT_EQ(made.node(inner.children.at(0)).names.at(0), "n");
    EXPECT_EQ(inner.children.at(0), root.children.at(1));
    EXPECT_EQ(fault(order, {{"a.Money", money}}),
              "the type `a.Line` is not defined, neither in it before its use nor in its "
              "references");
    EXPECT_EQ(fault(order, {{"a.Money", "{"}}), "in its reference `a.Money`: it is not JSON");
}

TEST(AvroSchema, ANameIsLookedUpInTheNamespaceAroundIt) {
    EXPECT_EQ(fault(R"({"type":"record","name":"a.b.R","fields":[
        {"name":"x","type":{"type":"enum","name":"E","symbols":["A"]}},
        {"name":"y","type":"E"},{"name":"z","type":"a.b.E"}]})"),
              "");
    EXPECT_EQ(fault(R"({"type":"record","name":"R","namespace":"a","fields":[
        {"name":"x","type":{"type":"enum","name":"E","namespace":"","symbols":["A"]}},
        {"name":"y","type":"E"}]})"),
              "");
    EXPECT_NE(fault(R"({"type":"record","name":"R","fields":[
        {"name":"x","type":{"type":"enum","name":"a.E","symbols":["A"]}},
        {"name":"y","type":"E"}]})"),
              "");
}

TEST(AvroSchema, FormsThatRegistriesHoldAreTaken) {
    for (const char* text :
         {"\"string\"", "string", R"({"type":"string","avro.java.string":"String"})",
          R"({"type":{"type":"string"}})", R"(["null",{"type":"array","items":"long"}])",
          R"({"type":"error","name":"E","fields":[]})",
          R"({"type":"record","name":"ns-x.R","fields":[],"doc":"d","aliases":["Q"]})",
          R"({"type":"enum","name":"E","symbols":[],"default":"A"})"}) {
        EXPECT_EQ(fault(text), "") << text;
    }
    const AvroSchema made = schema("bytes");
    EXPECT_EQ(made.node(made.root()).type, Type::bytes);
}

TEST(AvroSchema, WhatContradictsItselfIsRefused) {
    const auto refused = [](const char* text) { return fault(text); };
    EXPECT_EQ(refused("{"), "it is not JSON");
    EXPECT_EQ(refused("7"), "a type is neither a name, an object nor a list");
    EXPECT_EQ(refused("{}"), "an object has no `type`");
    EXPECT_EQ(refused(R"({"type":"record","fields":[]})"),
              "a record, an enum or a fixed has no name");
    EXPECT_EQ(refused(R"({"type":"record","name":"R"})"), "the record `R` has no list `fields`");
    EXPECT_EQ(refused(R"({"type":"record","name":"R","fields":[{"name":"a"}]})"),
              "the record `R` has a field without a name or a type");
    EXPECT_EQ(refused(R"({"type":"record","name":"R","fields":[{"name":"a","type":"int"},
        {"name":"a","type":"int"}]})"),
              "the record `R` has two fields `a`");
    EXPECT_EQ(refused(R"(["null",["int"]])"), "a union has a union as a branch");
    EXPECT_EQ(refused(R"(["null",{"type":["int"]}])"), "a union has a union as a branch");
    EXPECT_EQ(refused(R"({"type":"array"})"), "an array or a map has no `items`");
    EXPECT_EQ(refused(R"({"type":"map","items":"int"})"), "an array or a map has no `values`");
    EXPECT_EQ(refused(R"({"type":"fixed","name":"F","size":-1})"), "the fixed `F` has no size");
    EXPECT_EQ(refused(R"({"type":"fixed","name":"F","size":2147483648})"),
              "the fixed `F` has no size");
    EXPECT_EQ(refused(R"({"type":"enum","name":"E","symbols":[1]})"),
              "the enum `E` has a symbol that is not a text");
    EXPECT_EQ(refused(R"([{"type":"fixed","name":"F","size":1},{"type":"fixed","name":"F",
        "size":1}])"),
              "the type `F` is defined twice");
    std::string deep = "\"int\"";
    for (int i = 0; i < 5000; ++i) deep = R"({"type":"array","items":)" + deep + "}";
    EXPECT_EQ(fault(deep), "its types nest too deep");
    std::string wide = "[";
    for (int i = 0; i < 100'000; ++i) wide += "\"int\",";
    EXPECT_EQ(fault(wide + "\"int\"]"), "it has too many types");
}

}  // namespace
}  // namespace onceward::test
