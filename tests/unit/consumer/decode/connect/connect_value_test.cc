#include "consumer/decode/connect/connect_value.h"

#include <gtest/gtest.h>

namespace onceward::test {
namespace {

std::string connect_time(ConnectType type, std::int64_t count) {
    std::string text;
    const ConnectFault fault = append_connect_time(type, count, text);
    return fault != nullptr ? fault : text;
}

std::string connect_decimal(std::string_view base64, std::int64_t scale) {
    std::string text;
    const ConnectFault fault = append_connect_decimal(base64, scale, text);
    return fault != nullptr ? fault : text;
}

std::string connect_variable(std::string_view json) {
    std::string text;
    const ConnectFault fault = append_variable_decimal(json, text);
    return fault != nullptr ? fault : text;
}

TEST(ConnectValue, ADateIsItsDaysSince1970) {
    EXPECT_EQ(connect_time(ConnectType::date, 19874), "2024-05-31");
    EXPECT_EQ(connect_time(ConnectType::date, -1), "1969-12-31");
    EXPECT_EQ(connect_time(ConnectType::date, -719162), "0001-01-01");
    EXPECT_EQ(connect_time(ConnectType::date, 2932896), "9999-12-31");
}

TEST(ConnectValue, ADateThatPostgresqlCallsInfinityIsRefused) {
    EXPECT_EQ(connect_time(ConnectType::date, 2147483647),
              "is a date or time outside the years 1 to 9999");
    EXPECT_EQ(connect_time(ConnectType::local_micros, 9223372036825200000),
              "is a date or time outside the years 1 to 9999");
    EXPECT_EQ(connect_time(ConnectType::local_millis, 9223372036825200000),
              "is a date or time outside the years 1 to 9999");
}

TEST(ConnectValue, ATimeOfDayKeepsEachDigitOfItsUnit) {
    EXPECT_EQ(connect_time(ConnectType::time_millis, 25689500), "07:08:09.500000");
    EXPECT_EQ(connect_time(ConnectType::time_micros, 25689500001), "07:08:09.500001");
    EXPECT_EQ(connect_time(ConnectType::time_nanos, 25689500001000), "07:08:09.500001");
    EXPECT_EQ(connect_time(ConnectType::time_nanos, 25689500001007), "07:08:09.500001007");
}

TEST(ConnectValue, ATimeOfDayEndsAt24HoursAsInPostgresql) {
    EXPECT_EQ(connect_time(ConnectType::time_micros, 86'400'000'000), "24:00:00");
    EXPECT_EQ(connect_time(ConnectType::time_micros, 86'400'000'001),
              "is a time of day that is not within a day");
    EXPECT_EQ(connect_time(ConnectType::time_nanos, 86'400'000'000'001),
              "is a time of day that is not within a day");
    EXPECT_EQ(connect_time(ConnectType::time_millis, -1),
              "is a time of day that is not within a day");
    EXPECT_EQ(connect_time(ConnectType::time_millis, 9223372036854775807),
              "is a time of day that is not within a day");
}

TEST(ConnectValue, ALocalTimeHasNoZoneAndAPointInTimeHasOne) {
    EXPECT_EQ(connect_time(ConnectType::local_millis, 1717139289500), "2024-05-31T07:08:09.500000");
    EXPECT_EQ(connect_time(ConnectType::local_micros, -1), "1969-12-31T23:59:59.999999");
    EXPECT_EQ(connect_time(ConnectType::local_nanos, 1717139289500000001),
              "2024-05-31T07:08:09.500000001");
    EXPECT_EQ(connect_time(ConnectType::moment_millis, 1717139289500),
              "2024-05-31T07:08:09.500000Z");
}

TEST(ConnectValue, ADecimalKeepsEachDigitAndEachZeroOfItsScale) {
    EXPECT_EQ(connect_decimal("BNI=", 2), "12.34");
    EXPECT_EQ(connect_decimal("/w==", 2), "-0.01");
    EXPECT_EQ(connect_decimal("BM4=", 2), "12.30");
    EXPECT_EQ(connect_decimal("AA==", 0), "0");
    EXPECT_EQ(connect_decimal("DA==", -2), "1200");
    EXPECT_EQ(connect_decimal("AA==", -2), "0");
}

TEST(ConnectValue, WhatIsNoDecimalIsRefused) {
    EXPECT_EQ(connect_decimal("12.34", 2), "is not a decimal in base64");
    EXPECT_EQ(connect_decimal("", 2), "is not a decimal in base64");
    EXPECT_EQ(connect_decimal("BNI=", 5000), "is a decimal that is too long");
    EXPECT_EQ(connect_decimal("BNI=", -5000), "is a decimal that is too long");
}

TEST(ConnectValue, ADecimalMayBringItsScaleAlong) {
    EXPECT_EQ(connect_variable(R"({"scale":2,"value":"BNI="})"), "12.34");
    EXPECT_EQ(connect_variable(R"({"value":"DA==","scale":-2})"), "1200");
    EXPECT_EQ(connect_variable(R"({"value":"DA=="})"), "is not a decimal in base64");
    EXPECT_EQ(connect_variable(R"({"scale":"2","value":"DA=="})"), "is not a decimal in base64");
    EXPECT_EQ(connect_variable(R"([2,"DA=="])"), "is not a decimal in base64");
}

TEST(ConnectValue, AJsonTextIsOneWholeDocument) {
    EXPECT_TRUE(is_json_text(R"( {"a": 1} )"));
    EXPECT_TRUE(is_json_text("null"));
    EXPECT_TRUE(is_json_text("\"a\""));
    EXPECT_FALSE(is_json_text("a"));
    EXPECT_FALSE(is_json_text(""));
    EXPECT_FALSE(is_json_text("{} {}"));
}

TEST(ConnectType, NamesThatChangeNothingArePlain) {
    for (const char* name :
         {"", "io.debezium.time.ZonedTimestamp", "io.debezium.time.ZonedTime",
          "io.debezium.data.Uuid", "io.debezium.data.Xml", "io.debezium.data.Enum",
          "io.debezium.data.EnumSet", "io.debezium.data.Ltree", "io.debezium.data.Bits",
          "io.debezium.time.Year", "io.debezium.time.MicroDuration", "io.debezium.time.Interval",
          "io.debezium.data.geometry.Geometry", "shop.Order"}) {
        EXPECT_EQ(connect_type(name), ConnectType::plain) << name;
    }
}

}  // namespace
}  // namespace onceward::test
