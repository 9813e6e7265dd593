#include "lab/scale/model.h"

#include <array>
#include <cmath>
#include <stdexcept>

namespace onceward::scale {
namespace {

constexpr std::size_t constants = 3;
using Row = std::array<double, constants + 1>;  // what each constant is multiplied by; the cost

std::array<double, constants> factors(const Point& point) {
    return {1, point.more(), point.others()};
}

// By Gauss, with the largest pivot of each column.
std::array<double, constants> solved(std::array<Row, constants> rows) {
    for (std::size_t column = 0; column < constants; ++column) {
        std::size_t pivot = column;
        for (std::size_t i = column + 1; i < constants; ++i) {
            if (std::abs(rows[i][column]) > std::abs(rows[pivot][column])) pivot = i;
        }
        std::swap(rows[column], rows[pivot]);
        if (std::abs(rows[column][column]) < 1e-9) {
            throw std::invalid_argument("too few points, or too alike, for the model's constants");
        }
        for (std::size_t i = 0; i < constants; ++i) {
            if (i == column) continue;
            const double times = rows[i][column] / rows[column][column];
            for (std::size_t k = 0; k <= constants; ++k) rows[i][k] -= times * rows[column][k];
        }
    }
    std::array<double, constants> found{};
    for (std::size_t i = 0; i < constants; ++i) found[i] = rows[i][constants] / rows[i][i];
    return found;
}

}  // namespace

double Cost::of(const Point& point) const {
    const auto factor = factors(point);
    return alone * factor[0] + process * factor[1] + reading * factor[2];
}

Cost fit(std::span<const Point> points, const std::function<double(const Point&)>& cost) {
    std::array<Row, constants> normal{};
    for (const Point& point : points) {
        const double measured = cost(point);
        if (measured <= 0) continue;
        // An error of a tenth counts alike at every point.
        const double weight = 1 / (measured * measured);
        const auto factor = factors(point);
        for (std::size_t i = 0; i < constants; ++i) {
            for (std::size_t k = 0; k < constants; ++k) {
                normal[i][k] += weight * factor[i] * factor[k];
            }
            normal[i][constants] += weight * factor[i] * measured;
        }
    }
    const auto found = solved(normal);
    return {found[0], found[1], found[2]};
}

double predicted_rate(double cores, double seconds_a_million) {
    return cores / seconds_a_million * 1e6;
}

}  // namespace onceward::scale
