#include <algorithm>
#include <cmath>

#include "lab/bench/format.h"
#include "lab/bench/picture.h"
#include "lab/bench/svg.h"

namespace onceward::bench {
namespace {

constexpr double load_width = 310;
constexpr double decade = 110;  // 1, 10, 100, 1,000, 10,000 ms
constexpr int decades = 4;
constexpr double bar_height = 20;
constexpr double between_loads = 12;
constexpr double first_bar = 52;
constexpr double below_bars = 44;
constexpr double value_width = 80;

double place_at(double milliseconds) {
    const double exponent = std::log10(std::max(milliseconds, 1.0));
    return load_width + std::min(exponent, double{decades}) * decade;
}

std::string axis(double bottom) {
    std::string text;
    for (int exponent = 0; exponent <= decades; ++exponent) {
        const double milliseconds = std::pow(10, exponent);
        const double x = place_at(milliseconds);
        text += text_at(x, first_bar - 10, fixed(milliseconds, 0), "middle");
        text += stroke(x, first_bar - 4, bottom, "#c8c8c8", 1);
    }
    return text;
}

std::string bar(const char* share, double milliseconds, double top, const char* colour) {
    const double end = place_at(milliseconds);
    return text_at(load_width - 8, top + 15, share, "end") +
           rectangle(load_width, top + 2, end - load_width, bar_height - 4, colour) +
           text_at(end + 6, top + 15, three_digits(milliseconds) + " ms");
}

std::string circumstance(const Report& report, std::string_view name) {
    const auto found = std::ranges::find(report.circumstances, name,
                                         &decltype(report.circumstances)::value_type::first);
    return found == report.circumstances.end() ? "" : found->second;
}

}  // namespace

std::string latencies_as_svg(const Report& report) {
    const auto row = std::ranges::find_if(
        report.rows, [](const RowResult& one) { return !one.latencies.empty(); });
    if (row == report.rows.end()) return "";
    std::string bars;
    double top = first_bar;
    for (const LoadLatency& latency : row->latencies) {
        bars += text_at(8, top + 15, latency.load);
        bars += bar("p50", latency.p50, top, "#9db4e0");
        bars += bar("p99", latency.p99, top + bar_height, "#5577c0");
        bars += bar("p99.9", latency.p999, top + 2 * bar_height, "#1f3a93");
        top += 3 * bar_height + between_loads;
    }
    const std::string day = circumstance(report, "day");
    return drawing(
        load_width + decades * decade + value_width, top + below_bars - between_loads,
        text_at(8, 20, "Milliseconds from when a message should have been sent to its COMMIT") +
            axis(top - between_loads) + bars +
            text_at(8, top + 18,
                    day + (day.empty() ? "" : "; ") + circumstance(report, "processor")));
}

}  // namespace onceward::bench
