#include "lab/scale/model.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "lab/scale/report.h"

namespace onceward::scale {
namespace {

using testing::HasSubstr;

Point point(int servers, int processes, double seconds) {
    return {servers, processes, 2e6 / seconds, {seconds * 0.6, seconds * 0.3, seconds * 0.1},
            5000,    2};
}

// Points that obey the model, each up to `noise` off.
std::vector<Point> points(const Cost& truth, double noise = 0) {
    std::vector<Point> made;
    double sign = 1;
    for (const int servers : {1, 2}) {
        for (int processes = servers; processes <= 8; processes *= 2) {
            made.push_back(point(servers, processes, 1));
            const double seconds = truth.of(made.back()) * (1 + sign * noise);
            made.back() = point(servers, processes, seconds);
            sign = -sign;
        }
    }
    return made;
}

double total(const Point& point) { return point.total(); }

TEST(ScaleModel, ACostIsThatOfOneAndOfEachFurtherProcess) {
    const Cost cost{4, 0.1, 0.2};
    EXPECT_DOUBLE_EQ(cost.of(point(1, 1, 1)), 4);
    EXPECT_DOUBLE_EQ(cost.of(point(1, 8, 1)), 4 + 7 * 0.1 + 7 * 0.2);
    // Four on each server: each reads three others.
    EXPECT_DOUBLE_EQ(cost.of(point(2, 8, 1)), 4 + 7 * 0.1 + 3 * 0.2);
}
TEST(ScaleModel, ConstantsAreFoundAgain) {
    const Cost found = fit(points({4.5, 0.07, 0.21}), total);
    EXPECT_NEAR(found.alone, 4.5, 1e-9);
    EXPECT_NEAR(found.process, 0.07, 1e-9);
    EXPECT_NEAR(found.reading, 0.21, 1e-9);
}
TEST(ScaleModel, NoiseMovesThemLittle) {
    const Cost truth{4.5, 0.1, 0.3};
    const auto measured = points(truth, 0.03);
    const Cost found = fit(measured, total);
    for (const Point& one : measured) EXPECT_NEAR(found.of(one) / truth.of(one), 1, 0.03);
}
TEST(ScaleModel, PointsThatDoNotDetermineThemAreRefused) {
    EXPECT_THROW(fit({}, total), std::invalid_argument);
    // On one server, what a process costs and what reading costs cannot be told apart.
    const std::vector<Point> one_server{point(1, 1, 4), point(1, 2, 5), point(1, 8, 7)};
    EXPECT_THROW(fit(one_server, total), std::invalid_argument);
}
TEST(ScaleModel, ARateIsWhatTheCoresCanDo) { EXPECT_DOUBLE_EQ(predicted_rate(2, 4), 500'000); }

TEST(ScaleReport, HasTheErrorOfEachPoint) {
    auto measured = points({4, 0.1, 0.2});
    measured.back().rate /= 2;  // for another reason than processor time
    const std::string text = as_markdown({measured, 2, "a machine"});
    EXPECT_THAT(text, HasSubstr("| 1 | 1 | 500,000 | 500,000 | 0 % |"));
    EXPECT_THAT(text,
                HasSubstr("| 2.40 | 1.20 | 0.40 | 4.00 | 4.00 | 0 % | 2.00 | 2.00 | 5,000 |"));
    EXPECT_THAT(text, HasSubstr("| 2 | 8 | 188,679 | 377,358 | 100 % |"));
}
TEST(ScaleReport, ReplacesWhatIsBetweenItsMarkersAlone) {
    const std::string begin = "<!-- scale: begins -->\n", end = "<!-- scale: ends -->\n";
    EXPECT_EQ(put_into("a\n" + begin + "old\n" + end + "b\n", "new\n"),
              "a\n" + begin + "new\n" + end + "b\n");
    EXPECT_THROW(put_into("a\n" + begin, "new\n"), std::runtime_error);
    EXPECT_THROW(put_into(end + begin, "new\n"), std::runtime_error);
}

}  // namespace
}  // namespace onceward::scale
