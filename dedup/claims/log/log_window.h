#pragma once
// What a process remembers of a ledger's log: the digests of all batches up to `last`. Shared by
// the process's workers; thread-safe. Knows no database: the reader of the log adds what it read.
// DANGER: it belongs to sessions with one server, and is discarded when any of them ends
// (see LogWindows). Throws only std::bad_alloc.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dedup/base/mutex.h"
#include "dedup/claims/claim_store.h"
#include "dedup/claims/log/digest_table.h"
#include "dedup/claims/log/log_batch.h"
#include "dedup/claims/log/segment.h"

namespace onceward {

// What a transaction relies on: these claims, of these transactions.
struct Reliance {
    struct OnClaim {
        Digest digest;
        std::optional<Digest> fingerprint;
    };
    std::vector<OnClaim> claims;
    std::vector<std::uint64_t> transactions;
};

// What the transactions of a process's workers are about to append to one ledger's log. A key that
// another worker's transaction claims is presumed to be a duplicate; otherwise its row would be
// written, found to be a duplicate and written again. A transaction that relies on this waits for
// the other's end before its own, and then asks the window whether the other was committed.
// Thread-safe; throws only std::bad_alloc.
class ClaimsUnderWay {
  public:
    // If `reliance` is given, marks the claims that other transactions are about to make, and notes
    // them there. Then adds all that is still fresh to `mine`. Returns the number for end().
    // REQUIRES: claims sorted by digest; `mine` empty, and left alone until end().
    // All of it happens under one lock, so that no two transactions rely on each other.
    std::uint64_t begin(std::span<const Claim> claims, std::span<ClaimAnswer> answers,
                        LogAppend& mine, Reliance* reliance);
    // DANGER: if the transaction was committed, call this only when the window knows its claims.
    void end(std::uint64_t number);
    // Waits for the end of all of these, at most for `limit`; returns whether all have ended.
    bool wait(std::span<const std::uint64_t> numbers, std::chrono::milliseconds limit);

  private:
    Mutex mutex_;
    std::condition_variable_any ended_;
    std::uint64_t last_ ONCEWARD_GUARDED_BY(mutex_) = 0;
    std::map<std::uint64_t, LogBatch> open_ ONCEWARD_GUARDED_BY(mutex_);
};

class LogWindow {
  public:
    using Clock = std::chrono::steady_clock;

    struct Position {
        // Its table is read and appended to; older ones were read to their end. 0: not begun.
        std::int64_t generation = 0;
        // All batches up to this seq are known.
        std::int64_t last = 0;
        std::int64_t evictions = 0;
        std::uint64_t version = 0;  // grows with every batch and segment that is put in
    };
    Position position() const;

    // The first read: `oldest` has the oldest existing generation instead of the current one. A
    // second caller changes nothing.
    void begin(const LogState& oldest);
    // The generation before was read to its end, and it is sealed.
    void next_generation(std::int64_t generation);
    // Adds committed batches. REQUIRES: `batches` are in order and complete from some seq on
    // that is not above `last`.
    void take_in(std::int64_t generation, std::span<const LogBatch> batches);
    // Makes room for these, which are to be taken in later.
    void make_room(std::int64_t generation, std::span<const Digest> digests);
    // Forgets older generations, which have expired. DANGER: do not forget all that lies below the
    // floor: the claims of segments lie there too.
    void forget_before(std::int64_t generation);

    // A sealed generation that has become a segment, with those after it that were merged into it.
    struct Segment {
        int merge = 0;          // how often it was merged
        std::int64_t last = 0;  // the last of its generations
        // The parts that this window covers, so none if the segment has no claim in them.
        std::vector<SegmentPart> parts;
    };
    // Replaces the digests and the segments of these generations, which were all known before or
    // are below the floor. Does nothing if a segment covers them already.
    // DANGER: replace all of them in one step. Between two steps an old claim would be unknown.
    void put_segment(std::int64_t generation, Segment segment);
    bool has_segment(std::int64_t generation, int merge) const;

    // A filter that is not in memory, and where it belongs.
    struct MissingFilter {
        std::int64_t generation = 0;
        int merge = 0;
        std::size_t part = 0;   // its place among the segment's parts
        std::size_t shard = 0;  // of that part
        int number = 0;         // in the segment's table
    };
    // The next missing filter of the newest segment that lacks any, among the segments of earlier
    // generations than `before`; nullopt if all are in memory.
    std::optional<MissingFilter> missing_filter(std::int64_t before = all_generations) const;
    static constexpr std::int64_t all_generations = std::numeric_limits<std::int64_t>::max();
    // Does nothing if the segment was replaced meanwhile.
    void put_filter(const MissingFilter& missing, FuseFilter filter);
    // Forgets filters of the oldest segments, until `bytes` are free or no filter is left.
    void drop_filters(std::size_t bytes);

    // A claim that a filter of a segment says yes to: known only if that part's block holds it.
    struct Suspect {
        std::int64_t generation = 0;
        int merge = 0;
        int part = 0;
        std::size_t place = 0;  // among the claims
    };
    // Marks the known claims as duplicates or conflicts, adds the uncertain ones to `suspects`,
    // segment by segment, and leaves the rest unchanged. Returns the position of what it checked:
    // a batch that is put in afterwards is after it.
    Position look_up(std::span<const Claim> claims, std::span<ClaimAnswer> answers,
                     std::vector<Suspect>& suspects) const;
    // Returns whether one of these may have become known since version `since`: it is among the
    // digests outside segments, or a segment was added after that version.
    bool knows_any(std::span<const Digest> digests, std::uint64_t since) const;
    // Returns whether all of these are among the digests outside segments, each with exactly this
    // fingerprint.
    bool holds(std::span<const Reliance::OnClaim> claims) const;
    // Where a claim that has a fingerprint may be: in the batch `seq` of a generation's log, or, if
    // `seq` is 0, in the part `part` of a generation's segment, whose filter says yes.
    struct Whereabouts {
        std::int64_t generation = 0;
        std::int64_t seq = 0;
        int part = 0;
        int merge = 0;
    };
    std::vector<Whereabouts> whereabouts(const Digest& digest) const;
    ClaimsUnderWay& under_way() { return under_way_; }

    std::size_t size() const;
    std::size_t bytes() const;
    // How many of these bytes are claims that it holds one by one: those of all generations, those
    // of this one, and those of the sealed ones. And how many claims are not sealed yet.
    struct RecentClaims {
        std::size_t all = 0;
        std::size_t of_generation = 0;
        std::size_t sealed = 0;
        std::size_t open_claims = 0;
    };
    RecentClaims recent_claims(std::int64_t generation) const;

    // See LogWindows::discard().
    std::atomic<bool> discarded{false};
    // Whether a worker reads filters at this moment; the others then do not.
    std::atomic<bool> filter_under_way{false};
    // When somebody last read the log to its end.
    std::atomic<Clock::time_point> last_look{Clock::time_point{}};
    // When the next worker asks which generations have become segments.
    std::atomic<Clock::time_point> next_segments_look{Clock::time_point{}};
    // The next worker asks within a second, however often this is called: callers see the same
    // reason before each batch.
    void look_for_segments_soon() {
        next_segments_look = std::min(next_segments_look.load(), Clock::now() + segments_soon);
    }

  private:
    static constexpr std::chrono::seconds segments_soon{1};
    struct Generation {
        DigestTable digests;
        // In place of the digests, if the generation has become a segment.
        std::optional<Segment> segment;
    };
    static std::span<const SegmentPart> parts_of(const Generation& generation);

    mutable SharedMutex mutex_;
    Position position_ ONCEWARD_GUARDED_BY(mutex_);
    // The version with which the last segment came.
    std::uint64_t segment_came_ ONCEWARD_GUARDED_BY(mutex_) = 0;
    // One table of digests for each generation of the log, so that both are dropped together.
    std::map<std::int64_t, Generation> generations_ ONCEWARD_GUARDED_BY(mutex_);
    ClaimsUnderWay under_way_;
};

// What a read under the ledger's lock says of a window's position.
enum class LookVerdict : std::uint8_t {
    complete,  // with these batches the window knows all that was committed
    more,      // there may be further batches, or a newer generation: read on, and judge again
    gone,      // a part of the log, or a claim, was removed unseen: discard the window
};
// Pure. `batches`: how many the look found; `limit`: how many it would have found at most.
LookVerdict judge(const LogState& state, const LogWindow::Position& position, std::size_t batches,
                  std::size_t limit);

// A generation with fewer claims is not sealed for lack of memory. They take 2 to 11 MB, and each
// sealed generation costs every batch a probe.
inline constexpr std::int64_t fewest_claims_by_memory = 100'000;

// The windows of a process: one for each ledger and server, shared by the workers whose sessions
// are with that server. Thread-safe; made by the composition root, and outlives its users. Throws
// only std::bad_alloc.
class LogWindows {
  public:
    static constexpr std::size_t default_limit = std::size_t{256} << 20;

    // `limit`: how many bytes of claims the process may hold. A filter that does not fit stays in
    // the database, where each claim is then looked up: slower, and never wrong. Recent claims may
    // take half of it; see fullness().
    explicit LogWindows(std::size_t limit = default_limit) : limit_(limit) {}
    // How many bytes all windows hold, and how many they may hold.
    std::size_t bytes() const;
    std::size_t limit() const { return limit_; }
    // How much of the memory for recent claims a ledger's open generation has used up: at 1 it is
    // to be sealed, so that its claims become filters. Of several ledgers only those reach it that
    // hold at least their share, since sealing a small generation frees little. A generation that
    // takes half of the limit always reaches it. 0: nothing is held.
    double fullness(int ledger, std::int64_t generation) const;
    // Whether those of the ledger's recent claims that can become filters are that many: those of
    // sealed generations, and those of an open one that is large enough to be sealed.
    bool holds_much(int ledger) const;
    // How long a worker may read filters before its next batch: half of the time since one of the
    // process's workers last read some. So a worker's topics, which take turns, spend a third of
    // its time on that together, and batches continue meanwhile.
    std::chrono::milliseconds reading_time(LogWindow::Clock::time_point now) const;
    void filters_read(LogWindow::Clock::time_point now) { filters_read_at_ = now; }
    // A window that no other worker shares, which counts towards the limit.
    std::shared_ptr<LogWindow> make(int ledger);
    // `server`: as sql::log_server names it. DANGER: sessions with two servers, one of which may
    // have lost commits of the other, never share a window.
    std::shared_ptr<LogWindow> join(const std::string& server, int ledger);
    // Nobody joins the window any more, and its users leave it before their next transaction: a
    // session with its server ended, or what it says no longer holds.
    void discard(const std::shared_ptr<LogWindow>& window);

  private:
    // How many bytes the recent claims of the process take.
    struct Recent {
        std::size_t all = 0;
        std::size_t ledgers = 0;         // that have any
        LogWindow::RecentClaims ledger;  // of one of them, and of one of its generations
    };
    Recent recent(int ledger, std::int64_t generation) const;
    // From how many bytes on it is of use that the `held` ones become filters. REQUIRES: there are
    // recent claims.
    std::size_t enough(const Recent& found, std::size_t held) const;
    std::shared_ptr<LogWindow> make_one(int ledger) ONCEWARD_REQUIRES(mutex_);

    const std::size_t limit_;
    std::atomic<LogWindow::Clock::time_point> filters_read_at_{LogWindow::Clock::time_point{}};
    mutable Mutex mutex_;
    std::map<std::pair<std::string, int>, std::weak_ptr<LogWindow>> windows_
        ONCEWARD_GUARDED_BY(mutex_);
    // With their ledgers.
    std::vector<std::pair<int, std::weak_ptr<LogWindow>>> all_ ONCEWARD_GUARDED_BY(mutex_);
};

}  // namespace onceward
