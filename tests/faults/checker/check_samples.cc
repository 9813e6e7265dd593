// I2, I13: what was seen while the workers ran.

#include <algorithm>
#include <map>

#include "tests/faults/checker/finding.h"
#include "tests/faults/checker/samplers.h"

namespace onceward::checker {
namespace {

constexpr std::int64_t minute_ms = 60'000;
// Caches and pools of a younger process still fill.
constexpr std::int64_t youngest_ms = 30'000;
constexpr std::size_t fewest_samples = 6;

std::vector<std::int64_t> values(const std::vector<ResourceSample>& samples,
                                 std::int64_t ResourceSample::*member, std::int64_t begin,
                                 std::int64_t end) {
    std::vector<std::int64_t> found;
    for (const ResourceSample& sample : samples) {
        if (sample.at_ms >= begin && sample.at_ms <= end) found.push_back(sample.*member);
    }
    std::ranges::sort(found);
    return found;
}

}  // namespace

Violations check_offset_samples(const Evidence& evidence,
                                const std::vector<OffsetSample>& samples) {
    Violations violations;
    if (evidence.settings.committed_offset_moved || evidence.settings.rewound) return violations;
    Finding passed("I2", "a sample saw Kafka's offset beyond the fence");
    for (const OffsetSample& sample : samples) {
        if (sample.committed <= sample.next_offset) continue;
        passed.at([&] {
            const auto topic = static_cast<std::size_t>(sample.name.topic);
            return (topic < evidence.topics.size() ? evidence.topics[topic].name : "") + "/" +
                   std::to_string(sample.name.partition) + ": committed " +
                   std::to_string(sample.committed) + ", fence " +
                   std::to_string(sample.next_offset);
        });
    }
    passed.into(violations);
    return violations;
}

Violations check_resources(const std::vector<ResourceSample>& samples, const Budgets& budgets) {
    std::map<int, std::vector<ResourceSample>> processes;
    for (const ResourceSample& sample : samples) processes[sample.pid].push_back(sample);
    Violations violations;
    Finding grown("I13", "a process grew beyond its budget");
    for (auto& [pid, taken] : processes) {
        std::ranges::sort(taken, {}, &ResourceSample::at_ms);
        const std::int64_t begin = taken.front().at_ms;
        const std::int64_t end = taken.back().at_ms;
        if (taken.size() < fewest_samples || end - begin < youngest_ms) continue;
        const std::int64_t span = std::min(minute_ms, (end - begin) / 3);
        const auto compare = [&, &all = taken, number = pid](const char* what,
                                                             std::int64_t ResourceSample::*member,
                                                             std::int64_t budget) {
            // The middle value: a burst is no leak.
            const auto last = values(all, member, end - span, end);
            const std::int64_t before = values(all, member, begin, begin + span).back();
            const std::int64_t after = last[last.size() / 2];
            if (after <= before + budget) return;
            grown.at([&] {
                return (number == 0 ? std::string("a worker")
                                    : "process " + std::to_string(number)) +
                       ": " + what + " " + std::to_string(before) + " to " + std::to_string(after);
            });
        };
        compare("KiB resident", &ResourceSample::rss_kib, budgets.rss_kib);
        compare("file descriptors", &ResourceSample::fds, budgets.fds);
        compare("threads", &ResourceSample::threads, budgets.threads);
        compare("connections", &ResourceSample::connections, budgets.connections);
    }
    grown.into(violations);
    return violations;
}

}  // namespace onceward::checker
