#include "cli/configuration/units.h"

#include <gtest/gtest.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;

TEST(Units, DurationsNeedAUnit) {
    EXPECT_EQ(parse_duration("500ms"), 500ms);
    EXPECT_EQ(parse_duration("5s"), 5s);
    EXPECT_EQ(parse_duration("3m"), 3min);
    EXPECT_EQ(parse_duration("24h"), 24h);
    EXPECT_EQ(parse_duration("7d"), 168h);
    for (const char* wrong : {"", "5", "s", "-5s", "1.5h", "5 s", "5S", "99999999999999999d"}) {
        EXPECT_FALSE(parse_duration(wrong)) << wrong;
    }
}

TEST(Units, SizesTellThousandsFrom1024) {
    EXPECT_EQ(parse_size("8MiB"), 8 << 20);
    EXPECT_EQ(parse_size("100MB"), 100'000'000);
    EXPECT_EQ(parse_size("1KiB"), 1024);
    EXPECT_EQ(parse_size("0B"), 0);
    for (const char* wrong : {"", "8", "8M", "8mb", "-1MB", "9999999999GiB"}) {
        EXPECT_FALSE(parse_size(wrong)) << wrong;
    }
}

TEST(Units, HoursMayPassMidnightAndEndWithTheDay) {
    EXPECT_EQ(parse_hours("01:00-05:30"), (DailyHours{60min, 330min}));
    EXPECT_EQ(parse_hours("22:00-04:00"), (DailyHours{1320min, 240min}));
    EXPECT_EQ(parse_hours("20:00-24:00"), (DailyHours{1200min, 1440min}));
    for (const char* wrong : {"", "1:00-5:00", "01:00", "01:60-02:00", "24:00-01:00", "01:00-24:01",
                              "05:00-05:00", "01:00-05:00Z"}) {
        EXPECT_FALSE(parse_hours(wrong)) << wrong;
    }
    for (const char* same : {"01:00-05:30", "22:00-04:00", "00:00-24:00"}) {
        EXPECT_EQ(hours_text(*parse_hours(same)), same);
    }
}

TEST(Units, TimesNeedAZone) {
    EXPECT_EQ(parse_timestamp("1970-01-01T00:00:01Z"), 1000ms);
    EXPECT_EQ(parse_timestamp("1970-01-01T00:00:00.25Z"), 250ms);
    EXPECT_EQ(parse_timestamp("1970-01-01T02:00:00+02:00"), 0ms);
    EXPECT_EQ(parse_timestamp("1969-12-31T22:00:00-02:00"), 0ms);
    // As PostgreSQL prints it, and so do the commands.
    EXPECT_EQ(parse_timestamp("1970-01-01 02:00:00.25+02"), 250ms);
    // A leap second is the minute's end, and what is finer than a millisecond is cut off.
    EXPECT_EQ(parse_timestamp("1970-01-01T00:00:60.0019Z"), 60'001ms);
    for (const char* wrong : {"2026-01-31", "2026-01-31T12:00:00", "2026-02-30T00:00:00Z",
                              "2026-01-31T25:00:00Z", "2026-01-31T12:00:00+16:00", "yesterday"}) {
        EXPECT_FALSE(parse_timestamp(wrong)) << wrong;
    }
}

TEST(Units, AreWrittenInTheLargestUnitThatFits) {
    EXPECT_EQ(duration_text(24h), "1d");
    EXPECT_EQ(duration_text(1500ms), "1500ms");
    EXPECT_EQ(duration_text(0ms), "0ms");
    EXPECT_EQ(size_text(8 << 20), "8MiB");
    EXPECT_EQ(size_text(1'000'000), "1MB");
}

TEST(Units, AdviceSaysWhatToWrite) {
    EXPECT_NE(duration_advice("5").find("`5s`"), std::string::npos);
    EXPECT_NE(duration_advice("24 hours").find("`24h`"), std::string::npos);
    EXPECT_NE(size_advice("8m").find("`8MiB`"), std::string::npos);
}

}  // namespace
}  // namespace onceward
