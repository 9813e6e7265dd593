#pragma once
// Which messages of one partition's span have ended, and how far the fence may move for it: over
// the ended ones in front of the first that is open. Pure; not thread-safe.

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

    // A message of the span. REQUIRES: behind those before it.
    void add(Offset offset, LeaderEpoch leader_epoch);
    // REQUIRES: added, and not passed. Said again, the last word counts.
    void finish(Offset offset, MessageEnd ending);
    // It is open again after all.
    void reopen(Offset offset);

    // From where the fence stands now to where it may stand; none where nothing has ended in front.
    // Over the span's end where nothing is open.
    std::optional<FenceMove> due() const;
    // The messages that due() passes, in their order.
    std::vector<Offset> passed() const;
    // DANGER: only once the COMMIT was answered. The fence stands at the end of this move.
    void moved(const FenceMove& move);

    // What is left of the span: it begins where the fence stands.
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
