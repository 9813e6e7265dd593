#include "cli/admin/metrics_page.h"

#include <algorithm>
#include <string_view>

#include "cli/admin/metric_list.h"

namespace onceward {
namespace {

constexpr std::string_view head =
    R"(# Metrics

Written by `onceward config metrics`, from the program's own list: every metric that `/metrics` of
the [admin port](operations/watching.md#the-admin-port) can have, with the text of its `# HELP`.
[Reading metrics](operations/metrics.md) says how they are counted. [Alerts](operations/alerts.md)
and [dashboards](operations/dashboards.md) use them.

)";

struct PageSection {
    GivenBy given_by;
    std::string_view title;
    std::string_view text;
};

constexpr PageSection sections[] = {
    {GivenBy::workers, "Workers",
     "From `onceward run` with topics. Counters are the process's own."},
    {GivenBy::routes, "The front door",
     "From `onceward serve`, and from `onceward run` with [routes](http.md)."},
    {GivenBy::keeping, "Retention and outbox",
     "From processes with topics, and from those with routes that keep keys; `database` is "
     "`postgres`, or a name in `databases`."},
    {GivenBy::group, "The group",
     "Read from PostgreSQL, and the same from every process: take `max`, not `sum`."},
    {GivenBy::each, "Each process", "From `onceward run` and `onceward serve`."},
};

std::string_view to_text(MetricKind kind) {
    switch (kind) {
        case MetricKind::counter: return "counter";
        case MetricKind::gauge: return "gauge";
        case MetricKind::histogram: return "histogram";
    }
    return "";
}

std::string labels_of(const MetricSpec& spec) {
    std::string text;
    std::string_view rest = spec.labels;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        text += (text.empty() ? "`" : ", `") + std::string(rest.substr(0, end)) + "`";
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return text;
}

}  // namespace

std::string metrics_page() {
    std::string page(head);
    for (const auto& [given_by, title, text] : sections) {
        if (given_by != sections[0].given_by) page += "\n";
        page += "## " + std::string(title) + "\n\n" + std::string(text) +
                "\n\n| metric | type | labels | unit | meaning |\n|---|---|---|---|---|\n";
        for (const MetricSpec& spec : metric_list) {
            if (spec.given_by != given_by) continue;
            page += "| `" + std::string(spec.name) + "` | " + std::string(to_text(spec.kind)) +
                    " | " + labels_of(spec) + " | " + std::string(spec.unit) + " | " +
                    std::string(spec.meaning) + " |\n";
        }
    }
    return page;
}

}  // namespace onceward
