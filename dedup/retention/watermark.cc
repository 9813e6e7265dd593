#include "dedup/retention/watermark.h"

#include <cstdlib>
#include <utility>

namespace onceward {
namespace {
constexpr std::chrono::minutes clock_tolerance{1};
}

bool clocks_agree(const ClockReading& clocks) {
    return std::chrono::abs(clocks.database - clocks.worker) <= clock_tolerance;
}

std::string_view to_text(Sampling sampling) {
    switch (sampling) {
        case Sampling::kept: return "kept";
        case Sampling::waiting: return "waiting";
        case Sampling::clocks_differ: return "clocks_differ";
        case Sampling::out_of_range: return "out_of_range";
    }
    std::abort();
}

Sampling WatermarkSampler::sampled(Moment now, const ClockReading& clocks, Offset end,
                                   Offset fence) {
    next_ = now + every_;
    if (end < fence) return Sampling::out_of_range;
    if (waiting_) return Sampling::waiting;
    if (!clocks_agree(clocks)) return Sampling::clocks_differ;
    waiting_ = WatermarkWrite{clocks.database, end};
    return Sampling::kept;
}

std::optional<WatermarkWrite> WatermarkSampler::fence_at(Offset fence) {
    if (!waiting_ || fence < waiting_->end) return std::nullopt;
    return std::exchange(waiting_, std::nullopt);
}

}  // namespace onceward
