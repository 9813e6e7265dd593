// RFC 8785: the examples of the RFC itself, and what it leaves to who reads the JSON.

#include "consumer/intake/canonical_json.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

namespace onceward {
namespace {

std::string canonical(std::string_view json) {
    std::string out;
    const std::optional<std::string> fault = append_canonical(json, out);
    return fault ? "fault: " + *fault : out;
}

std::string real(std::uint64_t bits) {
    std::string out;
    append_canonical_real(std::bit_cast<double>(bits), out);
    return out;
}

// Appendix B, but for NaN and Infinity, which JSON has not.
TEST(CanonicalJson, NumbersAreWrittenAsTheAppendixWritesThem) {
    EXPECT_EQ(real(0x0000000000000000), "0");
    EXPECT_EQ(real(0x8000000000000000), "0");
    EXPECT_EQ(real(0x0000000000000001), "5e-324");
    EXPECT_EQ(real(0x8000000000000001), "-5e-324");
    EXPECT_EQ(real(0x7fefffffffffffff), "1.7976931348623157e+308");
    EXPECT_EQ(real(0xffefffffffffffff), "-1.7976931348623157e+308");
    EXPECT_EQ(real(0x4340000000000000), "9007199254740992");
    EXPECT_EQ(real(0xc340000000000000), "-9007199254740992");
    EXPECT_EQ(real(0x4430000000000000), "295147905179352830000");
    EXPECT_EQ(real(0x44b52d02c7e14af5), "9.999999999999997e+22");
    EXPECT_EQ(real(0x44b52d02c7e14af6), "1e+23");
    EXPECT_EQ(real(0x44b52d02c7e14af7), "1.0000000000000001e+23");
    EXPECT_EQ(real(0x444b1ae4d6e2ef4e), "999999999999999700000");
    EXPECT_EQ(real(0x444b1ae4d6e2ef4f), "999999999999999900000");
    EXPECT_EQ(real(0x444b1ae4d6e2ef50), "1e+21");
    EXPECT_EQ(real(0x3eb0c6f7a0b5ed8c), "9.999999999999997e-7");
    EXPECT_EQ(real(0x3eb0c6f7a0b5ed8d), "0.000001");
    EXPECT_EQ(real(0x41b3de4355555553), "333333333.3333332");
    EXPECT_EQ(real(0x41b3de4355555554), "333333333.33333325");
    EXPECT_EQ(real(0x41b3de4355555555), "333333333.3333333");
    EXPECT_EQ(real(0x41b3de4355555556), "333333333.3333334");
    EXPECT_EQ(real(0x41b3de4355555557), "333333333.33333343");
    EXPECT_EQ(real(0xbecbf647612f3696), "-0.0000033333333333333333");
    EXPECT_EQ(real(0x43143ff3c1cb0959), "1424953923781206.2");
}

// Section 3.2.2, with what the RFC says becomes of it.
TEST(CanonicalJson, TheRfcsSampleHasTheRfcsForm) {
    EXPECT_EQ(canonical(R"({
  "numbers": [333333333.33333329, 1E30, 4.50,
              2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
})"),
              R"({"literals":[null,true,false],)"
              R"("numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],)"
              "\"string\":\"\u20ac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
}

// Section 3.2.3. UTF-8 would put the last two the other way round.
TEST(CanonicalJson, NamesAreSortedByTheirUtf16CodeUnits) {
    EXPECT_EQ(canonical(R"({
  "\u20ac": "Euro Sign",
  "\r": "Carriage Return",
  "\ufb33": "Hebrew Letter Dalet With Dagesh",
  "1": "One",
  "\ud83d\ude00": "Emoji: Grinning Face",
  "\u0080": "Control",
  "\u00f6": "Latin Small Letter O With Diaeresis"
})"),
              "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\","
              "\"\u00f6\":\"Latin Small Letter O With Diaeresis\",\"\u20ac\":\"Euro Sign\","
              "\"\U0001F600\":\"Emoji: Grinning Face\","
              "\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}");
}

TEST(CanonicalJson, WhatMeansTheSameHasOneForm) {
    const std::string form = canonical(R"({"a":[1,{"b":-0.5}],"c":""})");
    EXPECT_EQ(form, R"({"a":[1,{"b":-0.5}],"c":""})");
    EXPECT_EQ(canonical(" { \"c\" : \"\" , \"a\":[ 1.0e0,{\"b\":-5E-1}\n] } "), form);
    EXPECT_EQ(canonical(form), form);
    EXPECT_EQ(canonical("-0"), "0");
    EXPECT_EQ(canonical("1e2"), "100");
    EXPECT_EQ(canonical("[]"), "[]");
    EXPECT_EQ(canonical("{ }"), "{}");
    EXPECT_NE(canonical(R"({"a":null})"), canonical("{}"));
}

// ECMAScript reads it so: the double next to it. What is too large is next to none.
TEST(CanonicalJson, ANumberBelowEveryDoubleIsZero) {
    const std::string zeros(400, '0');
    for (const std::string& tiny :
         {std::string("1e-400"), std::string("-1e-400"), std::string("123.4E-99999999999999999999"),
          std::string("0.001e-9223372036854775808"), "0." + zeros + "1", "1" + zeros + "e-800",
          "0.00" + zeros + "1e+1"}) {
        EXPECT_EQ(canonical(tiny), "0") << tiny;
    }
    EXPECT_EQ(canonical("0e-400"), "0");
    EXPECT_EQ(canonical("4e-324"), "5e-324") << "the smallest one";
    for (const std::string& large :
         {"1" + zeros, "-1" + zeros, "1" + zeros + "e-1", "0." + zeros + "1e800",
          std::string("1e+99999999999999999999")}) {
        EXPECT_EQ(canonical(large), "fault: a number is out of a double's range") << large;
    }
}

TEST(CanonicalJson, ANameThatBeginsAnotherComesFirst) {
    EXPECT_EQ(canonical(R"({"ab":1,"a":2,"":3})"), R"({"":3,"a":2,"ab":1})");
    EXPECT_FALSE(utf16_less("a", "a"));
}

TEST(CanonicalJson, ControlCharactersHaveTheShortestEscape) {
    EXPECT_EQ(canonical(R"("\u0008\u0009\u000a\u000c\u000d\u0000\u001f\u007f")"),
              "\"\\b\\t\\n\\f\\r\\u0000\\u001f\x7f\"");
}

// What two readers may take for different things has no form.
TEST(CanonicalJson, WhatHasNoFormIsToldAndNotGuessed) {
    EXPECT_EQ(canonical(R"({"a":1,"\u0061":2})"), "fault: an object has one name twice");
    EXPECT_EQ(canonical("1e400"), "fault: a number is out of a double's range");
    for (const char* broken :
         {R"("\ud800")", R"("\udc00\ud800")", R"("\ud800\u0041")", "\"\xff\""}) {
        const std::string form = canonical(broken);
        EXPECT_EQ(form.find("fault: "), 0U) << broken << " became " << form;
    }
}

TEST(CanonicalJson, WhatIsNoJsonIsToldAndNotRead) {
    for (const char* broken :
         {"",     "{",          "[1",  "{\"a\"", "{\"a\":",   "{\"a\":1", "{a:1}",
          "[1,]", "{\"a\":1,}", "\"",  "\"\\",   "\"\\u12\"", "\"\\x\"",  "01",
          "+1",   "nul",        "NaN", "1 2",    "]",         "\"\n\"",   "[\"x\":1}"}) {
        const std::string form = canonical(broken);
        EXPECT_EQ(form.find("fault: "), 0U) << broken << " became " << form;
    }
    EXPECT_EQ(canonical(std::string(1000, '[')),
              "fault: objects and arrays are nested deeper than 500");
}

}  // namespace
}  // namespace onceward
