#include "cli/terminal/progress.h"

#include <gtest/gtest.h>

#include "cli/operator/time_option.h"
#include "cli/terminal/config_file.h"
#include "dedup/base/iso_time.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

TEST(ProgressText, SaysShareRateAndTheTimeThatIsLeft) {
    EXPECT_EQ(progress_text({.unit = "keys", .done = 7, .begun_at = 0, .share = 0.5,
                             .elapsed = 300ms}),
              "7 keys, 50 %");
    EXPECT_EQ(progress_text({.unit = "keys", .done = 1000, .begun_at = 0, .share = 0.25,
                             .elapsed = 10s}),
              "1000 keys, 25 %, 100/s, 30 s left");
    EXPECT_EQ(progress_text({.unit = "keys", .done = 1000, .begun_at = 0, .share = 0.01,
                             .elapsed = 60s}),
              "1000 keys, 1 %, 16/s, 1 h 39 min left");
    EXPECT_EQ(progress_text({.unit = "keys", .done = 1000, .elapsed = 10s}), "1000 keys, 100/s");
}

// The rest is estimated by what this run did, not by what was done before it.
TEST(ProgressText, LeavesOutTheWorkOfEarlierRuns) {
    EXPECT_EQ(progress_text({.unit = "keys", .done = 100, .begun_at = 0.5, .share = 0.75,
                             .elapsed = 10s}),
              "100 keys, 75 %, 10/s, 10 s left");
    EXPECT_EQ(progress_text({.unit = "keys", .done = 100, .begun_at = 0.5, .share = 0.5,
                             .elapsed = 10s}),
              "100 keys, 50 %, 10/s");
}

TEST(Moment, IsReadAsItIsPrintedAndInTheOtherForms) {
    const auto now = std::chrono::milliseconds(1'769'860'800'000);  // 2026-01-31T12:00:00Z
    for (const char* same :
         {"2026-01-31T12:00:00Z", "2026-01-31 12:00:00+00", "2026-01-31 13:00:00.000+01",
          "2026-01-31T12:00:00.000000Z", "0s", "2026-01-31T07:30:00-04:30"}) {
        EXPECT_EQ(parse_moment(same, now), now) << same;
    }
    EXPECT_EQ(parse_moment(iso_text(now), now), now);
    EXPECT_EQ(parse_moment("1h", now), now - 1h);
    EXPECT_EQ(parse_moment("7d", now), now - 168h);
    EXPECT_EQ(parse_moment("2026-01-31", now), now - 12h);
    for (const char* none : {"", "yesterday", "1hour", "-1h", "2026-02-30", "12:00:00",
                             "2026-01-31 12:00:00", "2026-01-31T12:00:00 Europe/Berlin"}) {
        EXPECT_EQ(parse_moment(none, now), std::nullopt) << none;
    }
}

TEST(Moment, WithoutAZoneIsRefusedWithTheZoneToWrite) {
    EXPECT_NE(not_taken("a time", "2026-01-31 12:00:00").find("`2026-01-31 12:00:00Z` for UTC"),
              std::string::npos);
    EXPECT_EQ(not_taken("a time", "x"), "takes a time, not `x`");
}

TEST(DefaultConfigFile, IsTheFirstThatIsThere) {
    const auto only = [](const std::string& there) {
        return [there](const std::string& file) { return file == there; };
    };
    const char* const system_file = "/etc/onceward/onceward.yaml";
    EXPECT_EQ(default_config_file(nullptr, only(system_file)), system_file);
    EXPECT_EQ(default_config_file("", only(system_file)), system_file);
    EXPECT_EQ(default_config_file(nullptr, only("./onceward.yaml")), "./onceward.yaml");
    EXPECT_EQ(default_config_file(nullptr, only("neither")), "./onceward.yaml");
    EXPECT_EQ(default_config_file("other.yaml", only(system_file)), "other.yaml");
}

}  // namespace
}  // namespace onceward
