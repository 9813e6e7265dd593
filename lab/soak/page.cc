#include <cmath>

#include "lab/bench/format.h"
#include "lab/soak/report.h"

namespace onceward::soak {
namespace {

using bench::three_digits;

std::string row_of(const Series& series, std::size_t curve, const Finding& finding) {
    const Curve& about = *finding.curve;
    const std::string limit =
        std::isfinite(about.bound) ? three_digits(about.bound) : std::string("none");
    return "| " + std::string(about.title) + " | " +
           three_digits(series.samples.front().values.at(curve)) + " | " +
           three_digits(finding.early) + " | " + three_digits(finding.late) + " | " +
           three_digits(series.samples.back().values.at(curve)) + " | " +
           three_digits(finding.maximum) + " | " + limit + " | " +
           bench::fixed(about.growth * 100, 0) + " % + " + three_digits(about.slack) + " | " +
           (finding.flat() ? "flat"
            : finding.grew ? "**grew**"
                           : "**above its bound**") +
           " |\n";
}

}  // namespace

std::string as_markdown(const Series& series, const std::vector<Finding>& findings) {
    std::string text =
        "# Soak\n\n"
        "Written by `make soak`. The release program runs with default settings but for its "
        "ledger, "
        "on a real Kafka\nbroker and a PostgreSQL of its own, under a steady load. One message of "
        "ten repeats a key of the two minutes\nbefore it. The topic is bounded by size, retention "
        "rotates and drops the ledger's tables, and every 30 s the\nsink's table is emptied: its "
        "rows are read, checked against all rows before them, and removed, in one\ntransaction.\n\n"
        "| | |\n|---|---|\n";
    bool ended = false;
    for (const auto& [name, value] : series.facts) {
        text += "| " + name + " | " + value + " |\n";
        ended = ended || name == "count";
    }
    if (!ended) {
        text += "\nThis page was written while the run was under way, after " +
                bench::fixed(series.samples.back().seconds / 60, 0) + " minutes.\n";
    }
    text +=
        "\nEach curve is sampled every 10 s. The first quarter of the time is warm-up. A curve is "
        "flat if the median of\nthe last quarter exceeds that of the second quarter by no more "
        "than the column *may grow* says, and no value\nafter the warm-up is above its bound. The "
        "program fails if one curve is not flat, if a message was lost or\napplied twice, or if "
        "the lag does not end.\n\n"
        "| curve | first | second quarter, median | last quarter, median | last | highest | bound "
        "| may grow | |\n|---|---|---|---|---|---|---|---|---|\n";
    for (std::size_t i = 0; i < findings.size(); ++i) text += row_of(series, i, findings[i]);
    return text +
           "\n![Each curve over the whole time](images/soak.svg)\n\n"
           "```\n"
           "make soak                                  # 100 minutes, 45,000 messages/s\n"
           "make soak MINUTES=10 RATE=20000            # shorter than retention: says less\n"
           "build/release/onceward-lab soak --from build/soak/soak.csv --write docs/soak.md \\\n"
           "    --picture docs/images/soak.svg         # page and picture again, from the CSV\n"
           "```\n";
}

}  // namespace onceward::soak
