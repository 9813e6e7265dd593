#pragma once
// How far a partition has been read, in the log's time: a sample is the database's clock, and then
// the end of the log. When the fence has reached that end, every message that the log held at that
// clock has been passed; only then may retention count it. Pure: no I/O, no clock of its own. One
// sampler for each owned partition, used by one thread.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "dedup/base/types.h"

namespace onceward {

using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

// Two clocks, read together.
struct ClockReading {
    WallTime database;
    WallTime worker;
};

// No sample counts while they differ by more than a minute: one of them is wrong, and it is unknown
// which.
bool clocks_agree(const ClockReading& clocks);

// What the fence's owner may write once the fence is at `end`.
struct WatermarkWrite {
    WallTime moment;
    Offset end;
};

enum class Sampling : std::uint8_t {
    kept,
    waiting,  // an earlier sample waits for the fence; this one is thrown away
    clocks_differ,
    out_of_range,  // the log ends below the fence: it was cut, or is another log
};
std::string_view to_text(Sampling sampling);

class WatermarkSampler {
  public:
    using Moment = std::chrono::steady_clock::time_point;
    // `every`: the shortest time between two samples. Longer keeps claims longer by as much,
    // shorter asks more often.
    explicit WatermarkSampler(std::chrono::milliseconds every) : every_(every) {}

    // Whether it is time for a sample. Never while one waits for the fence.
    bool wants_sample(Moment now) const { return !waiting_ && now >= next_; }
    // DANGER: `end` must have been asked for after `clocks` was read. The other way round, a
    // message that arrived in between would count as passed. `end` is the high watermark, not the
    // last stable offset.
    Sampling sampled(Moment now, const ClockReading& clocks, Offset end, Offset fence);
    // To be asked after each sample and each move of the fence, with the fence as committed, or
    // with the end of the partition to which the write itself will move it. Answers with what is to
    // be written, once; a write that fails costs one sample and nothing else.
    std::optional<WatermarkWrite> fence_at(Offset fence);
    // The partition was taken over, or the connection ended.
    void forget() { waiting_.reset(); }

  private:
    std::chrono::milliseconds every_;
    Moment next_{};
    std::optional<WatermarkWrite> waiting_;
};

}  // namespace onceward
