#pragma once
// How far a partition has been read, in the log's time. A sample reads the database's clock, and
// then the end of the log. When the fence has reached that end, every message that the log held at
// that clock has been passed; only then may retention count it. Used by one thread. Failures of the
// statements are PostgresErrors, after which nothing was written.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "dedup/message/message.h"
#include "dedup/postgres/connection.h"

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

// Pure: no I/O, no clock of its own. One for each owned partition.
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
    // Call it after each sample and each move of the fence, with the fence as committed, or with
    // the end of the partition if the write itself will move the fence there. Returns what is to be
    // written, once; a write that fails costs one sample and nothing else.
    std::optional<WatermarkWrite> fence_at(Offset fence);

  private:
    std::chrono::milliseconds every_;
    Moment next_{};
    std::optional<WatermarkWrite> waiting_;
};

// The database's clock and this process's, read with one round trip between them.
ClockReading read_clocks(Connection& connection);

// The fence that a watermark belongs to. Views last for the call.
struct OwnedFence {
    std::string_view consumer_group;
    std::string_view topic;
    Partition partition;
    std::string_view owner;     // the uuid of my take-over
    std::string_view topic_id;  // as the broker gives it with this sample; '' if it does not
};

// Each write is one row in a transaction of its own, and never runs during a batch in flight on the
// same connection.
//
// Writes the watermark, if the fence is still mine and has reached the write's end; otherwise
// returns false. With `to_end` the same statement first moves the fence from `begin` to `end`
// (PARTITION_EOF beyond the last message).
bool write_watermark(Connection& connection, const OwnedFence& fence, const WatermarkWrite& write,
                     const std::optional<Span>& to_end);

// The list of a topic's partitions is a sample too: `clock` was read before the metadata was asked
// for. An error in asking is not an empty list. False, and nothing written, if the clocks
// differ.
bool write_partition_list(Connection& connection, int ledger, std::string_view consumer_group,
                          std::string_view topic, const ClockReading& clocks, int partitions);

}  // namespace onceward
