#pragma once
// The states of a message whose effect is under a lease, and what leads from one to another.
// docs/states.md has the meaning of each, and the diagram. Pure.

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "dedup/base/state_machine.h"
#include "dedup/fence/fence.h"

namespace onceward {

enum class LeaseState : std::uint8_t {
    open,     // to be claimed
    ready,    // mine; its next try is written down
    pausing,  // mine; its next try is not written down yet
    called,   // mine; the effect is under way
    ended,    // how the effect ended is to be written down
    written,  // its row has the end, and is to be counted when the fence passes
    settled,  // no row of its own is left to be counted
    refused,  // mine; the topic stops before it
    halted,   // the topic stops before it
};

enum class LeaseStep : std::uint8_t {
    claim,
    begin,
    end,
    refuse,     // the effect has failed, and the topic is to stop
    try_again,  // a later try may succeed
    write_try,
    write_end,
    find_end,  // the ledger has this very message's end
    settle,
    halt,
    lose,  // another worker has its key
    release,
};

inline constexpr auto lease_machine = [] {
    using enum LeaseState;
    constexpr std::nullopt_t no = std::nullopt;
    return StateMachine<LeaseState, LeaseStep, 9, 12>{
        {"open", "ready", "pausing", "called", "ended", "written", "settled", "refused", "halted"},
        {{
            // open, ready, pausing, called, ended, written, settled, refused, halted
            {"claim", {ready, no, no, no, no, no, no, no, no}},
            {"begin", {no, called, no, no, no, no, no, no, no}},
            {"end", {no, no, no, ended, no, no, no, no, no}},
            {"refuse", {no, no, no, refused, no, no, no, no, no}},
            {"try_again", {no, no, no, pausing, no, no, no, no, no}},
            {"write_try", {no, no, ready, no, no, no, no, no, no}},
            {"write_end", {no, no, no, no, written, no, no, no, no}},
            {"find_end", {written, no, no, no, no, no, no, no, no}},
            {"settle", {settled, no, no, no, no, no, no, no, no}},
            {"halt", {halted, no, no, no, no, no, no, no, no}},
            {"lose", {no, open, open, open, open, no, no, halted, no}},
            {"release", {no, open, open, no, no, no, no, halted, no}},
        }}};
}();

// Whether the worker has to keep the lease.
constexpr bool is_held(LeaseState state) {
    using enum LeaseState;
    return state == ready || state == pausing || state == called || state == refused;
}
// Whether nothing more is to be called or written down for it.
constexpr bool is_closed(LeaseState state) {
    using enum LeaseState;
    return state == written || state == settled || state == refused || state == halted;
}
// Whether the topic stops before it.
constexpr bool stops(LeaseState state) {
    return state == LeaseState::refused || state == LeaseState::halted;
}

// What a lease processor reports besides the outcomes of its messages. A plain value.
enum class LeaseEvent : std::uint8_t {
    taken_over,   // a key was claimed whose owner's lease ended without a result
    lost,         // a key was taken over from this processor
    tried_again,  // an attempt failed, and will be repeated
};

enum class MessageEnd : std::uint8_t { applied, duplicate, conflict, dead_lettered, skipped };
std::string_view to_text(MessageEnd end);

// Which messages of one partition's span have ended, and how far the fence may move: over the ended
// messages before the first open one. Not thread-safe.
class FinishedPrefix {
  public:
    explicit FinishedPrefix(Span span) : span_(span) {}

    // Adds a message of the span. REQUIRES: it follows those added before.
    void add(Offset offset, LeaderEpoch leader_epoch);
    // REQUIRES: added, and not passed. If it is called again, the last call counts.
    void finish(Offset offset, MessageEnd ending);
    // It is open again after all.
    void reopen(Offset offset);

    // The move from the fence's offset to the offset that it may have; nullopt if the first message
    // is still open. It goes to the span's end if nothing is open.
    std::optional<FenceMove> due() const;
    // The messages that due() passes, in their order.
    std::vector<Offset> passed() const;
    // DANGER: call this only once the COMMIT was answered. The fence is at the end of this move.
    void moved(const FenceMove& move);

    // What remains of the span: it begins at the fence.
    const Span& left() const { return span_; }
    bool done() const { return entries_.empty() && span_.begin == span_.end; }
    std::optional<Offset> first_open() const;

  private:
    struct Entry {
        Offset offset;
        LeaderEpoch leader_epoch;
        std::optional<MessageEnd> ending;
    };
    Entry& find(Offset offset);
    std::deque<Entry>::const_iterator first_open_entry() const;
    Span span_;
    std::deque<Entry> entries_;
};

}  // namespace onceward
