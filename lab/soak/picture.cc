#include <algorithm>

#include "lab/bench/format.h"
#include "lab/bench/statistics.h"
#include "lab/bench/svg.h"
#include "lab/soak/report.h"

namespace onceward::soak {
namespace {

using bench::Point;

constexpr int columns = 3;
constexpr double cell_width = 330;
constexpr double cell_height = 150;
constexpr double plot_width = 300;
constexpr double plot_height = 90;
constexpr std::size_t steps = 32;  // of a curve

struct Step {
    double minute = 0;
    bench::Summary values;
};

std::vector<Step> steps_of(const Series& series, std::size_t curve) {
    const std::size_t samples = series.samples.size();
    std::vector<Step> found;
    for (std::size_t i = 0; i < std::min(steps, samples); ++i) {
        const std::size_t begin = i * samples / std::min(steps, samples);
        const std::size_t end = (i + 1) * samples / std::min(steps, samples);
        std::vector<double> values;
        for (std::size_t at = begin; at < end; ++at) {
            values.push_back(series.samples[at].values.at(curve));
        }
        found.push_back({series.samples[begin].seconds / 60, bench::summarize(values)});
    }
    return found;
}

std::string plot(const Series& series, std::size_t curve, const Finding& finding, double left,
                 double top) {
    const std::vector<Step> values = steps_of(series, curve);
    const double minutes = std::max(series.samples.back().seconds / 60, 1e-9);
    double highest = 1e-9;
    for (const Step& step : values) highest = std::max(highest, step.values.maximum);
    const double bottom = top + 26 + plot_height;
    const auto place = [&](const Step& step, double value) {
        return Point{left + step.minute / minutes * plot_width,
                     bottom - value / highest * plot_height};
    };
    std::vector<Point> middle, band;
    for (const Step& step : values) {
        middle.push_back(place(step, step.values.median));
        band.push_back(place(step, step.values.maximum));
    }
    for (auto step = values.rbegin(); step != values.rend(); ++step) {
        band.push_back(place(*step, step->values.minimum));
    }
    const char* colour = finding.flat() ? "#1f3a93" : "#b5483a";
    return bench::text_at(left, top + 12, finding.curve->title) +
           bench::rectangle(left, bottom - plot_height, plot_width / 4, plot_height, "#f0f0f0") +
           bench::area_within(band, "#c3d0ee") + bench::line_through(middle, colour) +
           bench::rectangle(left, bottom, plot_width, 1, "#808080") +
           bench::text_at(left, bottom + 14,
                          "0 to " + bench::three_digits(highest) + "; median " +
                              bench::three_digits(finding.early) + ", at the end " +
                              bench::three_digits(finding.late));
}

}  // namespace

std::string as_svg(const Series& series, const std::vector<Finding>& findings) {
    std::string parts = bench::text_at(
        15, 20,
        bench::fixed(series.samples.back().seconds / 60, 0) +
            " minutes; grey: warm-up; light: from lowest to highest; medians of two quarters");
    for (std::size_t i = 0; i < findings.size(); ++i) {
        parts += plot(series, i, findings[i], 15 + static_cast<double>(i % columns) * cell_width,
                      35 + static_cast<double>(i / columns) * cell_height);
    }
    const std::size_t rows = (findings.size() + columns - 1) / columns;
    return bench::drawing(columns * cell_width + 10, 40 + static_cast<double>(rows) * cell_height,
                          parts);
}

}  // namespace onceward::soak
