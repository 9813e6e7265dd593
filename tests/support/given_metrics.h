#pragma once
// What an answer of /metrics has, by family, to be compared with the program's list of metrics.
// Pure.

#include <map>
#include <set>
#include <sstream>
#include <string>

#include "cli/admin/metric_list.h"

namespace onceward::support {

struct GivenMetric {
    std::string type;
    std::string help;
    std::set<std::string> labels;  // of all samples, but for a histogram's `le`
};

// `text`: in Prometheus's text format.
inline std::map<std::string, GivenMetric> given_metrics(const std::string& text) {
    std::map<std::string, GivenMetric> given;
    std::string family;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("# ")) {
            const std::size_t end = line.find(' ', 7);
            family = line.substr(7, end - 7);
            GivenMetric& metric = given[family];
            (line.starts_with("# TYPE") ? metric.type : metric.help) = line.substr(end + 1);
            continue;
        }
        // A value in quotes may hold anything, but no test uses `="` in one.
        for (std::size_t at = line.find("=\""); at != line.npos; at = line.find("=\"", at + 1)) {
            const std::size_t begin = line.find_last_of("{,", at) + 1;
            const std::string label = line.substr(begin, at - begin);
            if (label != "le") given[family].labels.insert(label);
        }
    }
    return given;
}

// How a metric differs from its entry in the list; '' if it does not.
inline std::string difference(const MetricSpec& spec, const GivenMetric& given) {
    const char* const types[] = {"counter", "gauge", "histogram"};
    if (given.type != types[static_cast<int>(spec.kind)]) return "its type is " + given.type;
    if (given.help != spec.meaning) return "its help is: " + given.help;
    std::istringstream listed{std::string(spec.labels)};
    std::set<std::string> labels;
    for (std::string label; listed >> label;) labels.insert(label);
    if (labels == given.labels) return "";
    std::string text = "its labels are";
    for (const std::string& label : given.labels) text += " " + label;
    return text;
}

}  // namespace onceward::support
