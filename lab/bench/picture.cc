#include "lab/bench/picture.h"

#include <algorithm>
#include <sstream>

#include "lab/bench/format.h"

namespace onceward::bench {
namespace {

constexpr double label_width = 430;
constexpr double axis_width = 400;
constexpr double line_height = 26;
constexpr double longest_bar = 4;  // times the floor; longer ones are cut

double position(double times) {
    return label_width + std::clamp(times, 0.0, longest_bar) / longest_bar * axis_width;
}

std::string escaped(std::string_view text) {
    std::string safe;
    for (const char character : text) {
        switch (character) {
            case '&': safe += "&amp;"; break;
            case '<': safe += "&lt;"; break;
            case '>': safe += "&gt;"; break;
            default: safe += character;
        }
    }
    return safe;
}

std::string text_at(double x, double y, const std::string& text) {
    return "<text x=\"" + fixed(x, 0) + "\" y=\"" + fixed(y, 0) + "\">" + escaped(text) +
           "</text>\n";
}

std::string stroke(double x, double top, double bottom, const char* colour) {
    return "<line x1=\"" + fixed(x, 1) + "\" x2=\"" + fixed(x, 1) + "\" y1=\"" + fixed(top, 1) +
           "\" y2=\"" + fixed(bottom, 1) + "\" stroke=\"" + colour + "\" stroke-width=\"2\"/>\n";
}

std::string bar(const Outcome& outcome, double top) {
    const Target& target = *outcome.target;
    const double end = position(times_the_floor(target, outcome.value.median));
    const char* colour = outcome.reached() ? "#4a8f5c" : "#b5483a";
    std::string text =
        text_at(8, top + 17, std::string(target.row) + "  " + std::string(target.name));
    text += "<rect x=\"" + fixed(label_width, 1) + "\" y=\"" + fixed(top + 4, 1) + "\" width=\"" +
            fixed(end - label_width, 1) + "\" height=\"" + fixed(line_height - 8, 1) +
            "\" fill=\"" + colour + "\"/>\n";
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
    const double width = label_width + axis_width + 80;
    std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + fixed(width, 0) +
                       "\" height=\"" + fixed(top + 10, 0) +
                       "\" font-family=\"sans-serif\" font-size=\"13\">\n"
                       "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    text += text_at(8, 17, "Times the floor (grey); the goal is blue; longer is better");
    text += bars;
    return text + stroke(position(1), line_height, top, "#808080") + "</svg>\n";
}

}  // namespace onceward::bench
