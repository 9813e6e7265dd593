#include "lab/bench/svg.h"

#include <cmath>

#include "lab/bench/format.h"

namespace onceward::bench {
namespace {

// Not fixed(), which writes commas between thousands.
std::string number(double value) {
    std::string text = fixed(value, 1);
    std::erase(text, ',');
    return text;
}

std::string attribute(const char* name, double value) {
    return " " + std::string(name) + "=\"" + number(value) + "\"";
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

// To the pixel, and some of them in a line, so that a picture of many curves is no long file.
std::string places(std::span<const Point> points) {
    constexpr std::size_t in_a_line = 10;
    std::string text;
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (i > 0) text += i % in_a_line == 0 ? '\n' : ' ';
        text += std::to_string(std::lround(points[i].x)) + "," +
                std::to_string(std::lround(points[i].y));
    }
    return text;
}

}  // namespace

std::string line_through(std::span<const Point> points, const char* colour) {
    return "<polyline fill=\"none\" stroke=\"" + std::string(colour) +
           "\" stroke-width=\"1.5\" points=\"\n" + places(points) + "\"/>\n";
}

std::string area_within(std::span<const Point> points, const char* colour) {
    return "<polygon fill=\"" + std::string(colour) + "\" points=\"\n" + places(points) + "\"/>\n";
}

std::string text_at(double x, double y, std::string_view text, const char* anchor) {
    return "<text" + attribute("x", x) + attribute("y", y) + " text-anchor=\"" + anchor + "\"\n>" +
           escaped(text) + "</text>\n";
}

std::string rectangle(double x, double y, double width, double height, const char* colour) {
    return "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) +
           attribute("height", height) + " fill=\"" + colour + "\"/>\n";
}

std::string stroke(double x, double top, double bottom, const char* colour, double width) {
    return "<line" + attribute("x1", x) + attribute("x2", x) + attribute("y1", top) +
           attribute("y2", bottom) + " stroke=\"" + colour + "\"" +
           attribute("stroke-width", width) + "/>\n";
}

std::string drawing(double width, double height, const std::string& parts) {
    return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", width) +
           attribute("height", height) +
           "\nfont-family=\"sans-serif\" font-size=\"13\">\n"
           "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
           parts + "</svg>\n";
}

}  // namespace onceward::bench
