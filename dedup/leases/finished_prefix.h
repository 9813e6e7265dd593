#pragma once
// Which messages of one partition's span have ended, and how far the fence may move: over the ended
// messages before the first open one. Pure; not thread-safe.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "dedup/fence/fence.h"

namespace onceward {

enum class MessageEnd : std::uint8_t { applied, duplicate, conflict, dead_lettered, skipped };

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
    // is still open. It goes over the span's end if nothing is open.
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
