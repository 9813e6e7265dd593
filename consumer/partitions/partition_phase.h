#pragma once
// The phases of an assigned partition, and what leads from one to another. docs/states.md has the
// meaning of each, and the diagram. Pure; thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dedup/base/state_machine.h"
#include "dedup/base/types.h"

namespace onceward {

enum class PartitionPhase : std::uint8_t {
    wants_fence,  // the writer is to take the fence
    wants_seek,   // the fence is mine; the reader is to seek to it
    reading,
    halted,   // nothing is read until a time, or until the fence is moved by hand
    waiting,  // until a message may be tried again; then the fence is taken first
    paused,   // nothing is read until the operator resumes the topic
};

enum class PartitionEvent : std::uint8_t {
    fence_taken,
    sought,        // the reader is at the offset of the fence
    fence_missed,  // another owner, or another offset
    wait,          // a message is to be tried again later
    halt,
    out_of_range,  // the log does not hold the fence's offset
    session_lost,  // every fence must be taken again
    wake,          // the fence was moved by hand, or the time to try again has come
    pause,
    resume,
};

// An event that changes nothing may be one that the other thread has made out of date.
inline constexpr auto partition_machine = [] {
    constexpr auto fence = PartitionPhase::wants_fence;
    constexpr auto seek = PartitionPhase::wants_seek;
    constexpr auto read = PartitionPhase::reading;
    constexpr auto halt = PartitionPhase::halted;
    constexpr auto wait = PartitionPhase::waiting;
    constexpr auto pause = PartitionPhase::paused;
    constexpr std::nullopt_t no = std::nullopt;
    return StateMachine<PartitionPhase, PartitionEvent, 6, 10>{
        {"wants_fence", "wants_seek", "reading", "halted", "waiting", "paused"},
        {{
            // wants_fence, wants_seek, reading, halted, waiting, paused
            {"fence_taken", {seek, no, no, no, seek, pause}},  // paused: assigned again meanwhile
            {"sought", {fence, read, read, halt, wait, pause}},
            {"fence_missed", {fence, fence, fence, halt, fence, pause}},
            {"wait", {wait, wait, wait, halt, wait, pause}},
            {"halt", {halt, halt, halt, halt, halt, halt}},
            {"out_of_range", {fence, fence, fence, halt, fence, pause}},
            {"session_lost", {fence, fence, fence, halt, wait, pause}},
            {"wake", {fence, seek, read, fence, wait, pause}},
            {"pause", {pause, pause, pause, halt, pause, pause}},
            {"resume", {fence, seek, read, halt, wait, fence}},
        }}};
}();

// Why nothing is read from a partition for now. Plain values; the words of to_text() are those of
// logs and metrics.
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

// The line `partition.halted`, with the lost range if there is one.
void log_halted(const HaltedPartition& halted);

}  // namespace onceward
