#pragma once
// Which messages carry an idempotency key that has come too often recently (`hot_key`). Counts what
// was committed, so that a batch that is processed again, or in parts, is judged as before. Pure:
// the caller passes the time. Not thread-safe; borrows the messages for a call.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "dedup/message/batch.h"
#include "dedup/policy/topic_policy.h"

namespace onceward {

class HotKeys {
  public:
    using Time = std::chrono::milliseconds;  // since 1970-01-01 UTC

    // `most_keys`: how many are remembered at once, about 50 bytes each. If more of them come
    // within a window, the count of each may be too low, by one for every `most_keys` messages
    // (Misra and Gries 1982). It is never too high, so that no other key is taken for a hot one.
    explicit HotKeys(HotKeyPolicy policy, std::size_t most_keys = 65'536);

    // Rejects what exceeds the policy, given what was counted and what precedes it in the slice.
    // Messages that are already rejected or skipped are left out. Returns what it rejected. A fence
    // that was moved back restarts all counting.
    std::vector<Message*> mark(const Slice& slice, Time now);
    // It was committed: its messages count from now on.
    void passed(const Slice& slice, Time now);

  private:
    struct Count {
        std::int64_t window = 0;
        std::int64_t times = 0;
    };
    std::int64_t window_of(const Message& message, Time now) const;
    static bool add(Count& count, std::int64_t window);
    void cancel_out(std::int64_t window);

    HotKeyPolicy policy_;
    std::size_t most_keys_;
    std::unordered_map<Digest, Count> counts_;
    std::map<Partition, Offset> counted_;  // up to which offset of each partition
};

// Marks for one attempt, which are removed at its end.
class HotMarks {
  public:
    HotMarks(HotKeys& keys, const Slice& slice, HotKeys::Time now)
        : marked_(keys.mark(slice, now)) {}
    HotMarks(const HotMarks&) = delete;
    HotMarks& operator=(const HotMarks&) = delete;
    ~HotMarks() {
        for (Message* message : marked_) message->rejection.reset();
    }

  private:
    std::vector<Message*> marked_;
};

}  // namespace onceward
