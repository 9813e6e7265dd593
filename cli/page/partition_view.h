#pragma once
// The group's partitions as any of its processes sees them: the fences' rows for all, and what this
// process knows of those that it has. Plain values; reading the rows throws PostgresError if it
// fails; the rest is pure.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/admin/process_status.h"
#include "dedup/postgres/connection.h"

namespace onceward {

struct PartitionView {
    std::string database;
    TopicPartition partition;
    Offset next_offset;
    std::int64_t epoch = 0;
    std::string owner = {};  // `host:process:worker`, the last one that took the fence
    std::string taken_at = {};
    std::string moved_at = {};
    bool retired = false;
    Totals totals = {};
    // Known if this process has the partition; the brokers are asked for the lag of others.
    std::optional<std::int64_t> lag = {};
    std::optional<int> worker = {};  // of this process; nullopt: it is another's
    PartitionPhase phase = PartitionPhase::wants_fence;
    std::chrono::milliseconds age{0};
    std::chrono::milliseconds standing{0};
    bool stalled = false;
    std::string reason = {};        // of the stall
    std::optional<Halt> halt = {};  // halted
    std::string paused = {};        // why; '' if it is not
    std::string awaits_schema = {};  // the same
};

std::vector<PartitionView> read_partitions(Connection& connection, const std::string& database,
                                           const std::string& group);
// Also partitions of this process whose fence was not taken yet.
void add_own(std::vector<PartitionView>& views, const ProcessStatus& status);

nlohmann::json to_json(const PartitionView& view);

// A topic's partitions as one row: how many, how many of them halted and stalled, lag and its age.
nlohmann::json topic_json(const std::vector<const PartitionView*>& partitions);

}  // namespace onceward
