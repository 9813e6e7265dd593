#include "consumer/partitions/partition_phase.h"

#include <array>
#include <cstddef>

namespace onceward {
namespace {

using Cell = std::optional<PartitionPhase>;

constexpr Cell fence = PartitionPhase::wants_fence;
constexpr Cell seek = PartitionPhase::wants_seek;
constexpr Cell read = PartitionPhase::reading;
constexpr Cell halt = PartitionPhase::halted;
constexpr Cell wait = PartitionPhase::waiting;
constexpr Cell pause = PartitionPhase::paused;
constexpr Cell wrong = std::nullopt;

// A row for each event and a column for each phase, in the order of the enums.
constexpr std::array<std::array<Cell, partition_phases>, partition_events> table{{
    // wants_fence, wants_seek, reading, halted, waiting, paused
    {seek, wrong, wrong, wrong, seek, pause},   // fence_taken; paused: assigned again meanwhile
    {fence, read, read, halt, wait, pause},     // sought
    {fence, fence, fence, halt, fence, pause},  // fence_missed
    {wait, wait, wait, halt, wait, pause},      // wait
    {halt, halt, halt, halt, halt, halt},       // halt
    {fence, fence, fence, halt, fence, pause},  // out_of_range
    {fence, fence, fence, halt, wait, pause},   // session_lost
    {fence, seek, read, fence, wait, pause},    // wake
    {pause, pause, pause, halt, pause, pause},  // pause
    {fence, seek, read, halt, wait, fence},     // resume
}};

}  // namespace

std::string_view to_text(PartitionPhase phase) {
    switch (phase) {
        case PartitionPhase::wants_fence: return "wants_fence";
        case PartitionPhase::wants_seek: return "wants_seek";
        case PartitionPhase::reading: return "reading";
        case PartitionPhase::halted: return "halted";
        case PartitionPhase::waiting: return "waiting";
        case PartitionPhase::paused: return "paused";
    }
    return "";
}

std::string_view to_text(PartitionEvent event) {
    switch (event) {
        case PartitionEvent::fence_taken: return "fence_taken";
        case PartitionEvent::sought: return "sought";
        case PartitionEvent::fence_missed: return "fence_missed";
        case PartitionEvent::wait: return "wait";
        case PartitionEvent::halt: return "halt";
        case PartitionEvent::out_of_range: return "out_of_range";
        case PartitionEvent::session_lost: return "session_lost";
        case PartitionEvent::wake: return "wake";
        case PartitionEvent::pause: return "pause";
        case PartitionEvent::resume: return "resume";
    }
    return "";
}

std::optional<PartitionPhase> next_phase(PartitionPhase phase, PartitionEvent event) {
    return table[static_cast<std::size_t>(event)][static_cast<std::size_t>(phase)];
}

}  // namespace onceward
