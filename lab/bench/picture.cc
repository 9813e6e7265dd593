#include "lab/bench/picture.h"

#include <algorithm>

#include "lab/bench/format.h"
#include "lab/bench/svg.h"

namespace onceward::bench {
namespace {

constexpr double label_width = 430;
constexpr double axis_width = 400;
constexpr double line_height = 26;
constexpr double longest_bar = 4;  // times the floor; longer ones are cut

double position(double times) {
    return label_width + std::clamp(times, 0.0, longest_bar) / longest_bar * axis_width;
}

std::string bar(const Outcome& outcome, double top) {
    const Target& target = *outcome.target;
    const double end = position(times_the_floor(target, outcome.value.median));
    const char* colour = outcome.reached() ? "#4a8f5c" : "#b5483a";
    std::string text =
        text_at(8, top + 17, std::string(target.row) + "  " + std::string(target.name));
    text += rectangle(label_width, top + 4, end - label_width, line_height - 8, colour);
    text += stroke(position(times_the_floor(target, target.goal)), top + 2, top + line_height - 2,
                   "#1f3a93");
    return text +
           text_at(label_width + axis_width + 12, top + 17, three_digits(outcome.value.median));
}

}  // namespace

double times_the_floor(const Target& target, double value) {
    switch (target.better) {
        case Better::higher: return value / target.floor;
        case Better::lower: return value == target.floor ? 1 : target.floor / value;
    }
    return 0;
}

std::string as_svg(const Report& report) {
    std::string bars;
    double top = line_height;
    for (const RowResult& row : report.rows) {
        for (const Outcome& outcome : row.outcomes) {
            bars += bar(outcome, top);
            top += line_height;
        }
    }
    return drawing(label_width + axis_width + 80, top + 10,
                   text_at(8, 17, "Times the floor (grey); the goal is blue; longer is better") +
                       bars + stroke(position(1), line_height, top, "#808080"));
}

}  // namespace onceward::bench
