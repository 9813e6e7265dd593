#include "lab/scale/report.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "lab/bench/format.h"

namespace onceward::scale {
namespace {

using bench::fixed;

const std::string begins = "<!-- scale: begins -->\n";
const std::string ends = "<!-- scale: ends -->\n";

std::string error_of(double predicted, double measured) {
    // Zero and not minus zero.
    return fixed(std::round((predicted / measured - 1) * 100) + 0.0, 0) + " %";
}

std::string row_of(const Point& point, const Cost& cost, double cores) {
    const double seconds = cost.of(point);
    const double predicted = predicted_rate(cores, seconds);
    std::string text = "| " + std::to_string(point.servers) + " | " +
                       std::to_string(point.processes) + " | " + fixed(point.rate, 0) + " | " +
                       fixed(predicted, 0) + " | " + error_of(predicted, point.rate);
    for (const double value :
         {point.cpu.worker, point.cpu.postgres, point.cpu.broker, point.total(), seconds}) {
        text += " | " + fixed(value, 2);
    }
    return text + " | " + error_of(seconds, point.total()) + " | " +
           fixed(point.rate * point.total() / 1e6, 2) + " | " + fixed(point.busy, 2) + " | " +
           fixed(point.batch, 0) + " |\n";
}

std::string constants_of(const std::string& name, const Cost& cost) {
    return "| " + name + " | " + fixed(cost.alone, 2) + " | " + fixed(cost.process, 3) + " | " +
           fixed(cost.reading, 3) + " |\n";
}

}  // namespace

std::string as_markdown(const Report& report) {
    const auto fitted = [&](double (*of)(const Point&)) { return fit(report.points, of); };
    const Cost total = fitted([](const Point& point) { return point.total(); });
    std::string text =
        report.circumstances +
        "\n\n| servers | processes | messages/s | predicted | error | worker CPU s/M "
        "| PostgreSQL | broker | sum | by the model | error | cores by these | cores busy | "
        "messages a batch "
        "|\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    for (const Point& point : report.points) text += row_of(point, total, report.cores);
    text += "\nPredicted is " + fixed(report.cores, 0) +
            " cores divided by the model's CPU seconds a million messages, which are:\n\n"
            "| CPU s a million messages | one process | each further process | each other process "
            "of the same server |\n|---|---|---|---|\n";
    text += constants_of("worker", fitted([](const Point& point) { return point.cpu.worker; }));
    text +=
        constants_of("PostgreSQL", fitted([](const Point& point) { return point.cpu.postgres; }));
    text += constants_of("broker", fitted([](const Point& point) { return point.cpu.broker; }));
    return text + constants_of("sum", total);
}

std::string put_into(const std::string& page, const std::string& text) {
    const std::size_t begin = page.find(begins);
    const std::size_t end = page.find(ends);
    if (begin == std::string::npos || end == std::string::npos || end < begin) {
        throw std::runtime_error("the page lacks the markers of the scale measurement");
    }
    return page.substr(0, begin + begins.size()) + text + page.substr(end);
}

}  // namespace onceward::scale
