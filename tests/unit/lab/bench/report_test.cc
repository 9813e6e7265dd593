#include "lab/bench/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/bench/picture.h"

namespace onceward::bench {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Report example() {
    Measurement run;
    run.messages = 1'000'000;
    run.seconds = 8;
    run.wal_bytes = 82'000'000;
    run.cpu = {3.5, 4.25, std::nan("")};
    RowResult measured;
    measured.row = "1";
    measured.setting = "a million messages";
    measured.outcomes.push_back({targets_of("1").front(), {0.68, 0.7, 0.75}});
    measured.lines.push_back(line("`log`", {run}));
    measured.notes.emplace_back("one fsync: 1 ms");
    RowResult failed;
    failed.row = "11";
    failed.failure = "the broker went away";
    Report report;
    report.circumstances = {{"processor", "two cores"}};
    report.rows = {measured, failed};
    return report;
}

TEST(BenchReport, TheJsonHasEachMeasuredRowBesideItsFloor) {
    const nlohmann::json json = nlohmann::json::parse(as_json(example()));
    ASSERT_EQ(json["rows"].size(), 1U);
    const nlohmann::json& row = json["rows"][0];
    EXPECT_EQ(row["row"], "1");
    EXPECT_EQ(row["ratio"], 0.7);
    EXPECT_EQ(row["min"], 0.68);
    EXPECT_EQ(row["max"], 0.75);
    EXPECT_EQ(row["floor"], 0.7);
    EXPECT_EQ(row["goal"], 0.9);
    EXPECT_EQ(row["reached"], true);
    EXPECT_EQ(row["goal_reached"], false);
    EXPECT_EQ(json["settings"][0]["messages_per_second"], 125'000);
    EXPECT_TRUE(json["settings"][0]["broker_cpu_seconds_per_million"].is_null());
    EXPECT_EQ(json["failed"][0]["row"], "11");
}

TEST(BenchReport, TheTextNamesFloorGoalAndWhatFailed) {
    const std::string text = as_text(example());
    EXPECT_THAT(text, HasSubstr(">= 0.70  reached"));
    EXPECT_THAT(text, HasSubstr(">= 0.90  missed"));
    EXPECT_THAT(text, HasSubstr("125,000"));
    EXPECT_THAT(text, HasSubstr("82.0"));
    EXPECT_THAT(text, HasSubstr("one fsync: 1 ms"));
    EXPECT_THAT(text, HasSubstr("row 11 failed: the broker went away"));
    EXPECT_THAT(text, HasSubstr("processor: two cores"));
}

TEST(BenchReport, ThePageHasEveryRowAndSaysWhichWereNotRun) {
    const std::string page = as_markdown(example());
    EXPECT_THAT(page, StartsWith("# Performance, rows 1, 11\n"));
    for (const Target& target : targets()) {
        EXPECT_THAT(page, HasSubstr("| " + std::string(target.row) + " | " +
                                    std::string(target.name) + " |"));
    }
    EXPECT_THAT(page, HasSubstr("dedup off | 0.70 | 0.68 | 0.75 | >= 0.70 | reached |"));
    EXPECT_THAT(page, HasSubstr("not run: it needs a peer"));
    EXPECT_THAT(page, HasSubstr("not run: it failed (the broker went away)"));
    EXPECT_THAT(page, HasSubstr("dedup off | not run |"));
    EXPECT_THAT(page, Not(HasSubstr("A quick run")));
}

TEST(BenchReport, ABarIsAsLongAsItsFloorIsMet) {
    EXPECT_DOUBLE_EQ(times_the_floor(*targets_of("3").front(), 0.6), 2);
    EXPECT_DOUBLE_EQ(times_the_floor(*targets_of("8")[1], 10), 2);
    EXPECT_DOUBLE_EQ(times_the_floor(*targets_of("9")[2], 0), 1);
    EXPECT_DOUBLE_EQ(times_the_floor(*targets_of("9")[2], 5), 0);
    const std::string picture = as_svg(example());
    EXPECT_THAT(picture, HasSubstr("1  `log`, reach global, one worker"));
    EXPECT_THAT(picture, HasSubstr("<rect x=\"430.0\" y=\"30.0\" width=\"100.0\""));
    EXPECT_THAT(picture, EndsWith("</svg>\n"));
}

TEST(BenchReport, APicturesNumbersHaveNoCommasHoweverTallItIs) {
    Report report = example();
    report.rows.assign(60, RowResult(report.rows.front()));
    EXPECT_THAT(as_svg(report), HasSubstr("height=\"1596.0\"\n"));
}

TEST(BenchReport, ALatencyTenTimesAsLongHasABarThatIsLongerByADecade) {
    Report report = example();
    EXPECT_EQ(latencies_as_svg(report), "");
    report.rows.front().latencies = {{"at 10 %", 10, 100, 1000}, {"at 80 %", 0.5, 2, 20'000}};
    const std::string picture = latencies_as_svg(report);
    for (const char* bar :
         {"y=\"54.0\" width=\"110.0\"", "y=\"74.0\" width=\"220.0\"", "y=\"94.0\" width=\"330.0\"",
          "y=\"126.0\" width=\"0.0\"", "y=\"166.0\" width=\"440.0\""}) {
        EXPECT_THAT(picture, HasSubstr(bar));
    }
    for (const char* text : {">at 10 %<", ">20,000 ms<", ">p99.9<", ">two cores<"}) {
        EXPECT_THAT(picture, HasSubstr(text));
    }
    const nlohmann::json json = nlohmann::json::parse(as_json(report));
    EXPECT_EQ(json["latencies"][1]["p99_9_ms"], 20'000);
    EXPECT_EQ(json["latencies"][0]["load"], "at 10 %");
}

TEST(BenchReport, AQuickRunSaysThatItSaysNothing) {
    Report report = example();
    report.quick = true;
    EXPECT_THAT(as_text(report), HasSubstr("figures say nothing"));
    EXPECT_THAT(as_markdown(report), HasSubstr("figures say nothing"));
    EXPECT_EQ(nlohmann::json::parse(as_json(report))["quick"], true);
}

}  // namespace
}  // namespace onceward::bench
