#pragma once
// Why nothing is read from a partition for now. Plain values; the words of to_text() are those of
// logs and metrics.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dedup/base/types.h"

namespace onceward {

enum class HaltReason : std::uint8_t {
    failed,        // the topic's sink, ledger or configuration; tried again by itself
    fence_lost,    // the group has our mark on its offset, but no fence row
    retired,       // `onceward groups retire`
    other_log,     // the topic's name means another log than the fence's
    out_of_range,  // the log's retention passed the fence: `lost` says which offsets are gone
    log_cut,       // the log ends before the fence, or was rewritten there
    unreadable,    // a batch with a broken checksum or compression
    memory,        // reading there took more memory than the process may have
};

std::string_view to_text(HaltReason reason);

struct OffsetRange {
    Offset begin;
    Offset end;  // exclusive
    friend bool operator==(const OffsetRange&, const OffsetRange&) = default;
};

struct Halt {
    HaltReason reason = HaltReason::failed;
    std::string text{};                 // for people
    std::optional<OffsetRange> lost{};  // offsets that can be read no more
    std::optional<Offset> at{};         // what could not be read
};

struct HaltedPartition {
    TopicPartition partition;
    Halt halt;
};

// The line `partition.halted`, with the lost range where there is one.
void log_halted(const HaltedPartition& halted);

}  // namespace onceward
