#include "dedup/base/iso_time.h"

#include <gtest/gtest.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;

TEST(IsoTime, AMomentKeepsItsOffset) {
    const auto moment = parse_iso_moment("1970-01-02T00:00:01.5-05:30");
    ASSERT_TRUE(moment);
    EXPECT_EQ(moment->local, 24h + 1500ms);
    EXPECT_EQ(moment->offset, -330min);
    EXPECT_FALSE(parse_iso_moment("1970-01-02 00:00:01")->offset);
    EXPECT_EQ(parse_iso_moment("1970-01-01t00:00:00z")->offset, 0min);
    EXPECT_EQ(parse_iso_moment("1970-01-01T00:00:00+0200")->offset, 120min);
    EXPECT_EQ(parse_iso_moment("1970-01-01T00:00+02")->offset, 120min);
}

TEST(IsoTime, WhatIsFinerThanAMicrosecondIsSaid) {
    const auto below = parse_iso_moment("1970-01-01T00:00:00.0000014999Z");
    EXPECT_EQ(below->local, 1us);
    EXPECT_EQ(below->rounded(), 1us);
    EXPECT_TRUE(below->finer.any);
    EXPECT_FALSE(below->finer.as_postgresql);
    const auto above = parse_iso_moment("1970-01-01T00:00:00.9999995001Z");
    EXPECT_EQ(above->local, 999'999us);
    EXPECT_EQ(above->rounded(), 1s);
    EXPECT_TRUE(above->finer.as_postgresql);
    EXPECT_FALSE(parse_iso_moment("1970-01-01T00:00:00.123456000Z")->finer.any);
    EXPECT_TRUE(parse_iso_time("07:08:09.0000000001")->finer.any);
}

// PostgreSQL rounds half to even, of the double that it reads.
TEST(IsoTime, AHalfIsRoundedAsPostgresqlDoes) {
    EXPECT_FALSE(parse_iso_moment("1970-01-01T00:00:00.0000005Z")->finer.as_postgresql);
    EXPECT_TRUE(parse_iso_moment("1970-01-01T00:00:00.0000015Z")->finer.as_postgresql);
    EXPECT_TRUE(parse_iso_moment("1970-01-01T00:00:00.0000005Z")->finer.half_up);
}

TEST(IsoTime, ALeapSecondIsTheMinutesEnd) {
    EXPECT_EQ(parse_iso_moment("1970-01-01T00:00:60Z")->local, 60s);
}

TEST(IsoTime, WhatTheCalendarLacksIsNone) {
    for (const char* text :
         {"", "2024", "2024-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "0000-01-01T00:00:00Z",
          "2024-13-01T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z",
          "2024-01-01T00:00:61Z", "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00Z ",
          "2024-01-01T00:00:00+1", "2024-1-1T00:00:00Z", "2024-01-01T00:00:00+99:00",
          "2024-01-01"}) {
        EXPECT_FALSE(parse_iso_moment(text)) << text;
    }
    EXPECT_FALSE(parse_iso_date("2024-02-30"));
    EXPECT_FALSE(parse_iso_date("2024-02-03T00:00:00Z"));
    EXPECT_FALSE(parse_iso_time("25:00"));
}

TEST(IsoTime, ADayEndsAt24AsInPostgresql) {
    for (const char* end : {"24:00", "24:00:00", "24:00:00.000"}) {
        ASSERT_TRUE(parse_iso_time(end)) << end;
        EXPECT_EQ(parse_iso_time(end)->time, std::chrono::hours{24});
    }
    for (const char* wrong : {"24:01", "24:00:00.1", "24:00:00.0000001", "24:", "24:24:00"}) {
        EXPECT_FALSE(parse_iso_time(wrong)) << wrong;
    }
    EXPECT_FALSE(parse_iso_moment("2024-01-01T24:00:00Z"));
}

TEST(IsoTime, DaysBefore1970AreNegative) {
    EXPECT_EQ(parse_iso_date("1969-12-31"), std::chrono::days{-1});
}

TEST(IsoTime, TextReadsBackAsItself) {
    for (const auto moment : {0us, -1us, 1'714'979'289'123'456us, -62'135'596'800'000'000us}) {
        const auto back = parse_iso_moment(iso_text(moment));
        ASSERT_TRUE(back) << iso_text(moment);
        EXPECT_EQ(back->local, moment);
        EXPECT_EQ(back->offset, 0min);
    }
}

}  // namespace
}  // namespace onceward
