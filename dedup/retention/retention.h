#pragma once
// Rotates ledgers, seals logs and drops what has expired, by the log's time. One thread and one
// connection for each process, besides its workers; only one process at a time works on a ledger.
// Exactness does not depend on it: while it is down, claims only stay longer. Failures inside run()
// are logged and tried again; a ledger that fails does not delay the others.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "dedup/base/mutex.h"
#include "dedup/ledger/ledger_options.h"
#include "dedup/retention/merging.h"
#include "dedup/retention/sealing.h"
#include "dedup/server/server_session.h"

namespace onceward {

class LogWindows;

// What a process's retention job has done since it began. Plain values.
struct RetentionCounts {
    std::int64_t runs = 0;  // passes over all ledgers, failed ones included
    std::int64_t failures = 0;
    // Looks that failed, by the ledger's name.
    std::map<std::string, std::int64_t> failed_ledgers{};
    std::int64_t busy = 0;     // passes over a ledger that did not get a lock in time
    std::int64_t rotated = 0;  // generations
    std::int64_t sealed = 0;   // generations of logs that became segments
    std::int64_t merged = 0;   // merges of several segments into one
    std::int64_t expired = 0;  // generations
    std::int64_t leases = 0;   // ended ones that were deleted
    double seconds = 0;        // that the runs took
    std::optional<std::chrono::system_clock::time_point> last_success;
};

struct RetentionOptions {
    // For run(), except that its `statement_timeout` is an hour.
    ConnectionOptions connection;
    std::vector<LedgerOptions> ledgers;
    // Time between two passes over each ledger, jittered by a quarter. Longer makes generations
    // outgrow their limits.
    std::chrono::milliseconds every{10'000};
    // How long one try waits for the ledger's lock or for a table. All claims of the ledger queue
    // while a rotation waits; a shorter time stalls them less, and may need more tries under load.
    // After a try that got no lock the next pass comes sooner (see run()), and waits for the
    // ledger's lock twice as long.
    std::chrono::milliseconds lock_timeout{50};
    SealingOptions sealing{};
    // `longest` is each ledger's `rotate_after`.
    MergeRule merge{};
    // How long a pass over a ledger merges segments before the other ledgers have their turn.
    std::chrono::milliseconds merging{1000};
    // The longest wait for the ledger's lock, after passes that did not get it. A shorter one may
    // never seal a ledger that is always busy; claims queue for as long.
    std::chrono::milliseconds longest_lock_wait{1600};
    // What this process remembers of the ledgers' logs. A generation is sealed before that takes
    // more memory than it may. nullptr: the process has no sessions that remember claims.
    std::shared_ptr<const LogWindows> windows{};
};

// What one pass over a ledger did.
struct RetentionReport {
    bool looked = false;  // false: no such ledger yet, or another process is looking
    // In what time the open generation will have its size, by its pace.
    std::chrono::milliseconds full_in{std::chrono::hours(24)};
    int ledger = 0;  // its number, if there was a look
    bool rotated = false;
    bool sealed = false;           // a log's generation became a segment
    bool merged = false;           // several segments became one
    bool merging = false;          // a merge is under way
    int unlisted = 0;              // generations that expired
    int dropped = 0;               // generations whose tables went; an earlier look unlisted them
    bool busy = false;             // a lock was not available in time; tried again at the next look
    bool held_back = false;        // a generation is overdue, because a watermark does not move
    bool waits_for_hours = false;  // what has expired stays until the ledger's purge_hours
    std::int64_t leases = 0;       // keys of a `lease` ledger that were deleted
    // How long the look waited for the ledger's lock at most, or would have.
    std::chrono::milliseconds lock_wait{};
};

// What a pass leaves for the next one over the same ledger. A plain value.
struct PassMemory {
    // Passes in a row that did not get the ledger's lock in time.
    int busy_in_a_row = 0;
    // When the log may say again that it was busy for so long.
    std::chrono::steady_clock::time_point next_busy_warning{};
};

class RetentionJob {
  public:
    explicit RetentionJob(RetentionOptions options);
    // Runs until `stop` is requested, which cancels the statement that runs then. A later pass does
    // what it would have done.
    void run(std::stop_token stop);
    // Works on these ledgers from the next pass on; the pace stays. Thread-safe.
    void use(std::vector<LedgerOptions> ledgers);
    // One pass over a ledger, in several short transactions; merges that are due are completed.
    // Throws PostgresError, but never for a lock. A statement that the connection's
    // `statement_timeout` cancels is such a failure.
    RetentionReport look(Connection& connection, const LedgerOptions& options);
    // Thread-safe.
    RetentionCounts counts() const;

  private:
    // What run() works with.
    struct Session {
        Session(ServerSession::Options options, std::stop_token token)
            : server(std::move(options)), stop(std::move(token)) {}
        ServerSession server;
        std::stop_token stop;
        std::map<std::string, Merger>
            mergers{};                      // by the ledger's name; on the server's connection
        std::chrono::milliseconds pause{};  // before the next pass
    };
    MergeRule rule_of(const LedgerOptions& ledger) const;
    // Sets the store to that of the ledger.
    RetentionReport pass(Connection& connection, LedgerOptions& options);
    void merge(Merger& merger, const LedgerOptions& ledger, std::chrono::milliseconds time,
               RetentionReport& report);
    bool connect(Session& session);
    // False if it failed: that is logged and counted, and the session is given up.
    bool look_or_warn(Session& session, const LedgerOptions& options);
    void look_at_all(Session& session);
    void count(const RetentionReport& report);
    RetentionOptions options_;                    // without the ledgers
    std::map<std::string, PassMemory> memories_;  // by the ledger's name
    std::chrono::steady_clock::time_point next_warning_{};
    mutable Mutex mutex_;
    std::vector<LedgerOptions> ledgers_ ONCEWARD_GUARDED_BY(mutex_);
    RetentionCounts counts_ ONCEWARD_GUARDED_BY(mutex_);
};

}  // namespace onceward
