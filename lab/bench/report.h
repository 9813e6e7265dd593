#pragma once
// What the bench found, as text, as JSON and as docs/performance.md. Pure.

#include <string>
#include <utility>
#include <vector>

#include "lab/bench/measurement.h"

namespace onceward::bench {

struct Report {
    // Name and value: machine, versions, settings of the server.
    std::vector<std::pair<std::string, std::string>> circumstances;
    std::vector<RowResult> rows;
    // The counts say nothing of speed.
    bool quick = false;
};

std::string as_text(const Report& report);
// rows: [{row, name, against, ratio, min, max, floor, goal, reached, goal_reached, setting}]. A row
// that was not measured, or failed, is not in it.
std::string as_json(const Report& report);
// Every row of the table; one that was not measured says so.
std::string as_markdown(const Report& report);

}  // namespace onceward::bench
