#pragma once
// What the bench's pictures are drawn with: parts of an SVG as text. Pure.

#include <span>
#include <string>
#include <string_view>

namespace onceward::bench {

// `anchor`: which end of the text is at `x`: start, middle or end.
std::string text_at(double x, double y, std::string_view text, const char* anchor = "start");
std::string rectangle(double x, double y, double width, double height, const char* colour);
// An upright line.
std::string stroke(double x, double top, double bottom, const char* colour, double width = 2);
struct Point {
    double x = 0;
    double y = 0;
};
std::string line_through(std::span<const Point> points, const char* colour);
std::string area_within(std::span<const Point> points, const char* colour);
// The whole file, on white. Its lines are short, so that it may be among the sources.
std::string drawing(double width, double height, const std::string& parts);

}  // namespace onceward::bench
