#pragma once
// The phases of an assigned partition, and what may lead from one to another: the table of
// next_phase(). docs/states.md draws it, and a test compares the two. Pure; thread-safe.

#include <cstdint>
#include <optional>
#include <string_view>

namespace onceward {

enum class PartitionPhase : std::uint8_t {
    wants_fence,  // the writer is to take the fence
    wants_seek,   // the fence is mine; the reader is to seek to it
    reading,
    halted,   // nothing is read until a time, or until the fence is moved by hand
    waiting,  // until a message may be tried again; then the fence is taken first
    paused,   // nothing is read until the operator resumes the topic
};
inline constexpr int partition_phases = 6;
std::string_view to_text(PartitionPhase phase);

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
inline constexpr int partition_events = 10;
std::string_view to_text(PartitionEvent event);

// The phase after the event; the same phase if the event changes nothing there, such as news that
// the other thread has made out of date. nullopt if the event must never happen in this phase: the
// caller keeps the phase and reports it.
std::optional<PartitionPhase> next_phase(PartitionPhase phase, PartitionEvent event);

}  // namespace onceward
