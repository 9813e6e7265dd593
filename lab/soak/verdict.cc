#include "lab/soak/verdict.h"

#include <algorithm>
#include <stdexcept>

#include "lab/bench/format.h"
#include "lab/bench/statistics.h"

namespace onceward::soak {
namespace {

using bench::grouped;

// The curve's values from this share of the run's time to that one.
std::vector<double> part_of(const Series& series, std::size_t curve, double from, double to) {
    const double whole = series.samples.back().seconds;
    std::vector<double> values;
    for (const Sample& sample : series.samples) {
        if (sample.seconds >= from * whole && sample.seconds <= to * whole) {
            values.push_back(sample.values.at(curve));
        }
    }
    if (values.empty()) throw std::invalid_argument("too few samples for a verdict");
    return values;
}

double median(std::vector<double> values) { return bench::summarize(std::move(values)).median; }

}  // namespace

std::vector<Finding> judge(const Series& series) {
    if (series.samples.size() < 8) throw std::invalid_argument("too few samples for a verdict");
    std::vector<Finding> findings;
    for (std::size_t i = 0; i < curves().size(); ++i) {
        Finding finding;
        finding.curve = &curves()[i];
        finding.early = median(part_of(series, i, 0.25, 0.5));
        finding.late = median(part_of(series, i, 0.75, 1));
        finding.maximum = std::ranges::max(part_of(series, i, 0.25, 1));
        finding.grew =
            finding.late > finding.early * (1 + finding.curve->growth) + finding.curve->slack;
        finding.exceeded = finding.maximum > finding.curve->bound;
        findings.push_back(finding);
    }
    return findings;
}

std::string complaint(const std::vector<Finding>& findings) {
    std::string text;
    for (const Finding& finding : findings) {
        if (finding.grew) {
            text += std::string(finding.curve->name) + " grew from " +
                    bench::three_digits(finding.early) + " to " +
                    bench::three_digits(finding.late) + "\n";
        }
        if (finding.exceeded) {
            text += std::string(finding.curve->name) + " reached " +
                    bench::three_digits(finding.maximum) + ", above its bound of " +
                    bench::three_digits(finding.curve->bound) + "\n";
        }
    }
    return text;
}

std::string to_text(const Count& count) {
    return "produced " + grouped(count.produced) + " = applied " + grouped(count.applied) +
           " + duplicates " + grouped(count.duplicates) + " + lost " + grouped(count.lost) +
           "; applied twice " + grouped(count.twice) +
           (count.unknown > 0 ? "; unknown " + grouped(count.unknown) : "");
}

}  // namespace onceward::soak
