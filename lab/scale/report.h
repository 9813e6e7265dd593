#pragma once
// What a run of the scale measurement found, for docs/scale.md. Pure.

#include <string>
#include <vector>

#include "lab/scale/model.h"

namespace onceward::scale {

struct Report {
    std::vector<Point> points;  // medians
    double cores = 0;
    std::string circumstances;  // a sentence
};

// Measured and predicted rates with the error of each, and the constants of the model.
std::string as_markdown(const Report& report);

// The page with this text between the page's two markers. std::runtime_error if it lacks them.
std::string put_into(const std::string& page, const std::string& text);

}  // namespace onceward::scale
