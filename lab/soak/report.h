#pragma once
// A soak as a page and as a picture, from its CSV alone. Pure.

#include <string>
#include <vector>

#include "lab/soak/verdict.h"

namespace onceward::soak {

// docs/soak.md.
std::string as_markdown(const Series& series, const std::vector<Finding>& findings);
// A small picture for each curve: the median of each thirty-second part of the time, within what it
// moved between.
std::string as_svg(const Series& series, const std::vector<Finding>& findings);

}  // namespace onceward::soak
