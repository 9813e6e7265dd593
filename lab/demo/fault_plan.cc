#include "lab/demo/fault_plan.h"

#include <algorithm>
#include <random>

namespace onceward::demo {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t messages_per_pair = 40'000;
constexpr std::int64_t pairs_max = 25;

}  // namespace

std::vector<Fault> plan_faults(const FaultPlanOptions& options) {
    // Another stream than the workload's, which uses the seed itself.
    std::mt19937_64 random(options.seed ^ 0x9E3779B97F4A7C15U);
    const auto below = [&](std::int64_t limit) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
    };
    const std::int64_t pairs =
        std::clamp<std::int64_t>(options.messages / messages_per_pair, 1, pairs_max);
    std::vector<Fault::Kind> kinds;
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
        kinds.push_back(Fault::Kind::kill);
        kinds.push_back(Fault::Kind::freeze);
    }
    for (std::size_t index = kinds.size() - 1; index > 0; --index) {
        const auto other = static_cast<std::size_t>(below(static_cast<std::int64_t>(index) + 1));
        std::swap(kinds[index], kinds[other]);
    }

    std::vector<Fault> faults;
    const auto stretch = options.messages / static_cast<std::int64_t>(kinds.size() + 1);
    bool lasting = true;
    for (const Fault::Kind kind : kinds) {
        Fault fault;
        fault.kind = kind;
        fault.worker = static_cast<int>(below(options.workers));
        fault.at = stretch * static_cast<std::int64_t>(faults.size()) + stretch / 2 +
                   below(std::max<std::int64_t>(stretch / 2, 1));
        if (kind == Fault::Kind::freeze) {
            fault.duration = milliseconds{300 + below(500)};
            if (lasting) fault.duration += options.session_end;
            lasting = !lasting;
        }
        faults.push_back(fault);
    }
    return faults;
}

}  // namespace onceward::demo
