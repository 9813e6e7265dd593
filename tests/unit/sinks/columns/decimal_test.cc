#include "sinks/columns/decimal.h"

#include <gtest/gtest.h>

namespace onceward {
namespace {

std::string numeric(std::string_view text) {
    std::string out;
    const auto decimal = parse_decimal(text);
    EXPECT_TRUE(decimal && append_numeric(*decimal, out)) << text;
    std::string shown;
    for (std::size_t at = 0; at + 1 < out.size(); at += 2) {
        const int value =
            static_cast<unsigned char>(out[at]) * 256 + static_cast<unsigned char>(out[at + 1]);
        shown += (at == 0 ? "" : " ") + std::to_string(value);
    }
    return shown;
}

std::optional<std::int64_t> whole(std::string_view text) {
    const auto decimal = parse_decimal(text);
    return decimal ? whole_number(*decimal) : std::nullopt;
}

// Groups, weight of the first, sign, digits after the point, then the groups of four digits.
TEST(Decimal, GroupsOfFourStandOnTheDecimalPoint) {
    EXPECT_EQ(numeric("0"), "0 0 0 0");
    EXPECT_EQ(numeric("-0.00"), "0 0 0 2");
    EXPECT_EQ(numeric("1"), "1 0 0 0 1");
    EXPECT_EQ(numeric("12345.6"), "3 1 0 1 1 2345 6000");
    EXPECT_EQ(numeric("-0.5"), "1 65535 16384 1 5000");
    EXPECT_EQ(numeric("0.00001"), "1 65534 0 5 1000");
    EXPECT_EQ(numeric("1e8"), "1 2 0 0 1");
}

TEST(Decimal, TrailingZerosCountForTheScaleAlone) {
    EXPECT_EQ(numeric("1.5000"), "2 0 0 4 1 5000");
    EXPECT_EQ(numeric("100000000"), "1 2 0 0 1");
}

TEST(Decimal, WhatIsNoNumberIsNone) {
    for (const char* text : {"", "-", ".", "e5", "1e", "1e+", "1e+-5", "0x10", "1 ", " 1", "1.2.3",
                             "--1", "NaN", "1e99999999999"}) {
        EXPECT_FALSE(parse_decimal(text)) << text;
    }
}

TEST(Decimal, WholeNumbersReachBothEndsAndNoFurther) {
    EXPECT_EQ(whole("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(whole("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
    EXPECT_FALSE(whole("9223372036854775808"));
    EXPECT_FALSE(whole("-9223372036854775809"));
    EXPECT_FALSE(whole("1e19"));
    EXPECT_EQ(whole("1.5e1"), 15);
    EXPECT_EQ(whole("1500e-2"), 15);
    EXPECT_FALSE(whole("15e-2"));
    EXPECT_EQ(whole("0e999"), 0);
}

TEST(Decimal, BeyondNumericsLimitsNothingIsAppended) {
    std::string out = "kept";
    EXPECT_FALSE(append_numeric(*parse_decimal("1e131072"), out));
    EXPECT_FALSE(append_numeric(*parse_decimal("1e-16384"), out));
    EXPECT_EQ(out, "kept");
}

}  // namespace
}  // namespace onceward
