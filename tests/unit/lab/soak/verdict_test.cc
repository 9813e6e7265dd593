#include "lab/soak/verdict.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "lab/soak/report.h"

namespace onceward::soak {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::size_t place_of(std::string_view name) {
    for (std::size_t i = 0; i < curves().size(); ++i) {
        if (curves()[i].name == name) return i;
    }
    throw std::logic_error("no such curve");
}

// 100 minutes, a sample each 10 s; all curves stay at 100, but for one, by its minute.
Series series(std::string_view name = "", const std::function<double(double)>& value = {}) {
    Series made;
    for (int i = 1; i <= 600; ++i) {
        Sample sample{i * 10.0, std::vector<double>(curves().size(), 100)};
        for (std::size_t at = 0; at < curves().size(); ++at) {
            sample.values[at] = std::min(100.0, curves()[at].bound);
        }
        if (!name.empty()) sample.values[place_of(name)] = value(i / 6.0);
        made.samples.push_back(std::move(sample));
    }
    return made;
}

std::string complaint_of(std::string_view name, const std::function<double(double)>& value) {
    return complaint(judge(series(name, value)));
}

TEST(SoakVerdict, FlatCurvesPass) { EXPECT_THAT(complaint(judge(series())), IsEmpty()); }

TEST(SoakVerdict, EachCurveThatGrowsIsRefusedByItsName) {
    for (const Curve& curve : curves()) {
        // Twice as much at the end as after the warm-up, and by ten times what is tolerated.
        const double begin = 10 * curve.slack;
        EXPECT_THAT(
            complaint_of(curve.name, [&](double minute) { return begin * (1 + minute / 40); }),
            HasSubstr(std::string(curve.name) + " grew from"));
    }
}
TEST(SoakVerdict, SlowGrowthIsRefused) {
    EXPECT_THAT(complaint_of("worker_mb", [](double minute) { return 150 + minute; }),
                HasSubstr("worker_mb grew from 188 to 238"));
}
TEST(SoakVerdict, WhatGrowsDuringTheWarmUpAloneIsFlat) {
    EXPECT_THAT(
        complaint_of("ledger_mb", [](double minute) { return std::min(minute * 30, 600.0); }),
        IsEmpty());
}
TEST(SoakVerdict, ACurveThatRisesAndFallsAgainAndAgainIsFlat) {
    EXPECT_THAT(
        complaint_of("ledger_mb", [](double minute) { return 300 + 100 * std::sin(minute); }),
        IsEmpty());
}
// Other people's builds.
TEST(SoakVerdict, AMomentOfLagIsNoFailure) {
    EXPECT_THAT(
        complaint_of(
            "lag", [](double minute) { return minute > 90 && minute < 93 ? 5'000'000.0 : 200.0; }),
        IsEmpty());
}
TEST(SoakVerdict, StayingBehindIsAFailure) {
    EXPECT_THAT(complaint_of("lag", [](double minute) { return minute > 80 ? 90'000.0 : 200.0; }),
                HasSubstr("lag grew from 200 to 90,000"));
}
TEST(SoakVerdict, AValueAboveItsBoundIsRefusedButNotDuringTheWarmUp) {
    const auto once_at = [](double when) {
        return complaint_of("worker_mb", [when](double minute) {
            return std::abs(minute - when) < 0.01 ? 1'000.0 : 200.0;
        });
    };
    EXPECT_THAT(once_at(10), IsEmpty());
    EXPECT_THAT(once_at(60), HasSubstr("worker_mb reached 1,000, above its bound of"));
}
TEST(SoakVerdict, TooFewSamplesHaveNoVerdict) {
    EXPECT_THROW(judge(Series{}), std::invalid_argument);
}

TEST(SoakCount, IsGoodOnlyIfEachMessageIsAccountedFor) {
    const Count good{.produced = 10, .applied = 9, .duplicates = 1};
    EXPECT_TRUE(good.good());
    for (const auto& change : std::vector<std::function<void(Count&)>>{
             [](Count& count) { count.produced = 11; }, [](Count& count) { count.lost = 1; },
             [](Count& count) { count.twice = 1; }, [](Count& count) { count.unknown = 1; }}) {
        Count bad = good;
        change(bad);
        EXPECT_FALSE(bad.good()) << to_text(bad);
    }
}

TEST(SoakSeries, IsTheSameAfterItsCsv) {
    Series written = series("lag", [](double minute) { return minute * 1'000; });
    written.facts = {{"commit", "0b51a0e"}, {"count", "produced 1 = applied 1: all"}};
    const Series read = from_csv(as_csv(written));
    EXPECT_EQ(read.facts, written.facts);
    ASSERT_EQ(read.samples.size(), written.samples.size());
    EXPECT_EQ(as_csv(read), as_csv(written));
}
TEST(SoakSeries, TextThatIsNoneIsRefused) {
    EXPECT_THROW(from_csv("seconds,worker\n1,2\n"), std::runtime_error);
    std::string cut = as_csv(series());
    cut.resize(cut.rfind(','));
    EXPECT_THROW(from_csv(cut), std::runtime_error);
}

TEST(SoakReport, NamesTheCurveThatGrew) {
    const Series made = series("wal_mb", [](double minute) { return 100 + 10 * minute; });
    const auto findings = judge(made);
    EXPECT_THAT(as_markdown(made, findings),
                HasSubstr("| 475 | 975 | 1,100 | 1,100 | 3,000 | 10 % + 50.0 | **grew** |"));
    EXPECT_THAT(as_svg(made, findings), HasSubstr("#b5483a"));
    EXPECT_THAT(as_svg(series(), judge(series())), testing::Not(HasSubstr("#b5483a")));
}

}  // namespace
}  // namespace onceward::soak
