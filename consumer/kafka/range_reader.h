#pragma once
// Reads parts of a log without joining the group and without moving anything, for `onceward check
// --sample`, `offsets skip` and `replay`. Used by one thread. Failures are KafkaErrors. Records
// must be gone before the RangeReader that read them.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "consumer/kafka/kafka_error.h"
#include "consumer/kafka/kafka_options.h"
#include "dedup/base/types.h"
#include "dedup/message/message.h"

namespace onceward {

// What reading from an offset meets first.
struct LogSight {
    enum class Kind : std::uint8_t { record, unreadable, end_of_log } kind = Kind::record;
    Offset at;  // of the record; where the unreadable batch begins, which may be lower; the end
};

// Finds where the records after a damaged batch begin; pure: a function tells what is at an offset.
// Returns the first offset from `begin` on that is not in an unreadable batch, or `end` if there is
// none before it. Exact for any number of consecutive damaged batches: each batch's end is found by
// halving. Returns nullopt if that takes more than `looks` questions, for instance if the client
// does not tell the batches apart.
std::optional<Offset> next_readable(Offset begin, Offset end,
                                    const std::function<LogSight(Offset)>& look, int looks = 500);

struct Stretch {
    TopicPartition partition;
    Offset begin;
    Offset end;  // exclusive
};

// A part of a stretch: what was read, and where reading continues.
struct RecordPage {
    std::vector<Record> records;
    Offset end;
};

class RangeReader {
  public:
    explicit RangeReader(const KafkaOptions& options);
    ~RangeReader();
    // What the stretches hold, each in offset order; throws if that takes longer than `limit`.
    std::vector<Record> read(const std::vector<Stretch>& stretches, std::chrono::seconds limit);

    // Begins to read a stretch of any length, page by page.
    void open(const Stretch& stretch);
    // The next page: what has arrived, up to `messages` records and about `bytes` bytes of them.
    // Its end is the stretch's end when all of it has been read, or the log holds no more. Throws
    // if nothing comes within `limit`.
    RecordPage page(std::size_t messages, std::size_t bytes, std::chrono::seconds limit);

    // What reading from `offset` on meets first; throws if nothing comes within `limit`.
    LogSight look(const TopicPartition& partition, Offset offset, std::chrono::seconds limit);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace onceward
