#include "lab/bench/format.h"

#include <cmath>
#include <iomanip>
#include <sstream>

namespace onceward::bench {

std::string fixed(double value, int digits) {
    if (!std::isfinite(value)) return "-";
    std::ostringstream stream;
    stream << std::fixed << std::setprecision(digits) << value;
    std::string text = stream.str();
    const std::size_t point = text.find('.');
    const std::size_t first = text.starts_with('-') ? 1 : 0;
    std::size_t at = point == std::string::npos ? text.size() : point;
    while (at > first + 3) text.insert(at -= 3, ",");
    return text;
}

std::string grouped(std::int64_t value) { return fixed(static_cast<double>(value), 0); }

std::string three_digits(double value) {
    const double size = std::abs(value);
    return fixed(value, size < 10 ? 2 : size < 100 ? 1 : 0);
}

std::string milliseconds_text(double seconds) { return fixed(seconds * 1e3, 2) + " ms"; }

}  // namespace onceward::bench
