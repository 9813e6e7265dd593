#pragma once
// The statements of dedup/retention/watermark.h. Each write is one row in a transaction of its own,
// and never runs during a batch in flight on the same connection. Used by one thread; failures are
// PostgresErrors, after which nothing was written.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dedup/message/message.h"
#include "dedup/postgres/connection.h"
#include "dedup/retention/watermark.h"

namespace onceward {

// The database's clock and this process's, read with one round trip between them.
ClockReading read_clocks(Connection& connection);

// The fence that a watermark belongs to. Views last for the call.
struct OwnedFence {
    std::string_view consumer_group;
    std::string_view topic;
    Partition partition;
    std::string_view owner;     // the uuid of my take-over
    std::string_view topic_id;  // as the broker gives it with this sample; '' where it does not
};

// Writes the watermark, if the fence is still mine and has reached the write's end; false where it
// is not so. With `to_end` the same statement first moves the fence from `begin` to `end`
// (PARTITION_EOF beyond the last message).
bool write_watermark(Connection& connection, const OwnedFence& fence, const WatermarkWrite& write,
                     const std::optional<Span>& to_end);

// The list of a topic's partitions is a sample too: `clock` was read before the metadata was asked
// for. An error in asking is not an empty list. False, and nothing written, where the clocks
// differ.
bool write_partition_list(Connection& connection, int ledger, std::string_view consumer_group,
                          std::string_view topic, const ClockReading& clocks, int partitions);

}  // namespace onceward
