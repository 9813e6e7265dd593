#pragma once
// What a topic does with messages that cannot be applied, and what is remembered of those that were
// refused. Plain values and pure classes: the caller passes the time. Not thread-safe.

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "dedup/base/types.h"

namespace onceward {

// Only the first `most` messages with the same idempotency key are processed within a window;
// further ones go to the dead letters. Windows follow one another, each `within` long, by the
// messages' own timestamps.
struct HotKeyPolicy {
    std::int64_t most = 0;  // 0: any number; else each message costs two look-ups in memory
    std::chrono::milliseconds within{60'000};  // above 0
};

struct RejectPolicy {
    enum class Action : std::uint8_t { dead_letter, halt } action = Action::dead_letter;
    // For a message whose key was claimed with another fingerprint; if not set, `action` counts. An
    // ignored one is counted as a conflict, and nothing else is left of it.
    enum class OnConflict : std::uint8_t { dead_letter, ignore, halt };
    std::optional<OnConflict> on_conflict = std::nullopt;
    // Beyond this share of rejected messages within `cap_window`, and at least `cap_minimum` of
    // them, the topic halts: a bad deploy must not empty a topic into the dead letters. 1.0 never
    // halts.
    double cap_share = 0.5;
    std::chrono::seconds cap_window{60};
    std::int64_t cap_minimum = 1000;
    // How often a message that is tried alone is tried again before it goes to the dead letters, if
    // what refused it may pass (may_pass() in dedup/policy/failure.h). Its partition waits
    // meanwhile.
    int retries = 0;
    // The first pause; each further one is twice as long, up to five minutes, and jittered.
    std::chrono::milliseconds retry_backoff{1000};
    // by_key: messages that follow a dead letter with the same record key go to the dead letters
    // too, until it is resolved. Costs one read of the open dead letters in each transaction.
    enum class Order : std::uint8_t { by_partition, by_key } order = Order::by_partition;
    HotKeyPolicy hot_key = {};

    OnConflict conflict_action() const {
        if (on_conflict) return *on_conflict;
        return action == Action::halt ? OnConflict::halt : OnConflict::dead_letter;
    }
};

// Watches the share of rejected messages of a topic over a sliding time.
class RejectionWindow {
  public:
    using Clock = std::chrono::steady_clock;
    explicit RejectionWindow(RejectPolicy policy) : policy_(policy) {}
    // Whether `rejected` of `passed` further messages would go beyond the policy's cap.
    bool would_exceed(Clock::time_point now, std::int64_t passed, std::int64_t rejected);
    // They were committed.
    void record(Clock::time_point now, std::int64_t passed, std::int64_t rejected);

  private:
    struct Entry {
        Clock::time_point time;
        std::int64_t passed;
        std::int64_t rejected;
    };
    void expire(Clock::time_point now);
    RejectPolicy policy_;
    std::deque<Entry> entries_;
};

// How often the message that holds up its partition has been tried. In memory: a worker that takes
// the partition over starts counting again.
class MessageRetries {
  public:
    // `attempts` beyond the first one; `backoff` before the first of them.
    MessageRetries(int attempts, std::chrono::milliseconds backoff)
        : attempts_(attempts), backoff_(backoff) {}

    // How long this message must wait before it is tried again, without jitter; nullopt if it has
    // used all its tries.
    std::optional<std::chrono::milliseconds> next(Partition partition, Offset offset);
    // How often it was tried again.
    int tried(Partition partition, Offset offset) const;
    // Everything below `end` has been passed.
    void passed(Partition partition, Offset end);

  private:
    struct Waiting {
        Offset offset;
        int tried = 0;
    };
    int attempts_;
    std::chrono::milliseconds backoff_;
    std::map<Partition, Waiting> waiting_;
};

}  // namespace onceward
