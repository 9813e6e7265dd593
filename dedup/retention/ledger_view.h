#pragma once
// What a ledger holds and what delays its retention, for operators and metrics; and the rules of
// when a generation is sealed. Plain values; used by one thread; failures are PostgresErrors.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/ledger/ledger_options.h"
#include "dedup/postgres/connection.h"

namespace onceward {

struct LedgerView {
    int ledger = 0;
    std::string name;
    std::string store;
    std::string reach;
    std::string retention_text;
    std::chrono::seconds retention{0};
    std::int64_t generations = 0;
    std::int64_t claims = 0;
    // False: some of its tables are large, and their claims are estimated.
    bool claims_counted = true;
    std::int64_t bytes = 0;  // with indexes
    std::string oldest;      // when its oldest generation began
    std::chrono::seconds oldest_age{0};
    // How long the oldest sealed generation, or ended lease, has been kept beyond its retention, by
    // the wall clock. Half a minute is usual: watermarks follow the clock at that distance.
    std::chrono::seconds held_back{0};
    // For a `lease` ledger: keys that a worker is processing, keys that were released or whose
    // worker is gone, and since when the oldest of them has been open.
    std::int64_t leases_held = 0;
    std::int64_t leases_waiting = 0;
    std::chrono::seconds oldest_lease{0};
    // Whether requests claim in it, of routes or of once(). They have no log, and no fence that
    // counts what was applied.
    bool takes_requests = false;
    bool has_inbox = false;          // programs claim in it by SQL
    bool of_group = false;           // the group that was asked for feeds it
    std::int64_t results_bytes = 0;  // of stored results, with indexes; `bytes` includes them
    // When its memory begins, since 1970; nullopt if nothing was forgotten yet.
    std::optional<std::chrono::seconds> memory_begins{};
    // For a ledger with an inbox, after count_open_transactions(): how many transactions hold its
    // lock, and for how long the oldest has been open, if PostgreSQL shows that to the owner.
    std::int64_t open_transactions = 0;
    std::optional<std::chrono::seconds> oldest_transaction{};
};

// Sorted by name: the one that is named, those that the group or the inbox feeds, or all.
std::vector<LedgerView> view_ledgers(Connection& connection, const std::optional<std::string>& name,
                                     const std::optional<std::string>& group);

// The ledgers of services: those that only calls of once() or of the inbox feed. No configuration
// has them.
std::vector<LedgerOptions> service_ledgers(Connection& connection);
// Adds the open transactions of the ledgers with an inbox. Reads the server's locks.
void count_open_transactions(Connection& connection, std::vector<LedgerView>& ledgers);

struct ClaimCount {
    std::int64_t claims = 0;
    bool counted = true;
};

// The claims of a generation whose table has `bytes`: counted if it is small, which takes some
// milliseconds, and otherwise estimated from the size. REQUIRES: no transaction is open.
ClaimCount count_claims(Connection& connection, int ledger, std::int64_t generation,
                        std::int64_t bytes, StoreKind store);

// What the ledger's retention waits for; a partition of -1 means the list of partitions.
struct RetentionHolder {
    std::string group;
    std::string topic;
    std::int64_t partition = 0;
    std::optional<std::string> watermark;
    // The number of an open replay, if one holds everything back; then `partition` has no meaning.
    std::optional<std::int64_t> replay;
    std::string started_by;
    std::string started_at;
    // What `onceward groups retire` takes.
    std::string name() const {
        return replay ? group + " replay " + std::to_string(*replay) : group;
    }
};

// The oldest first, no more than `limit`.
std::vector<RetentionHolder> retention_holders(Connection& connection, int ledger, int limit);

// When a generation is sealed. Pure; ages are by the database's clock, since claims carry that one.
struct CurrentGeneration {
    std::int64_t generation = 0;
    std::chrono::milliseconds age{0};
    std::int64_t claims = 0;  // counted while they are few, otherwise estimated
    // How much of the memory for them this process's claims of it have used up: at 1, all of it.
    // See LogWindows::fullness().
    double memory = 0;
};

enum class Rotation : std::uint8_t { keep, by_age, by_size, by_memory };
std::string_view to_text(Rotation rotation);

// Claims in a table of this size. A row without a fingerprint is 64 bytes and its line pointer 4;
// with one it is 16 more, so that the estimate is a quarter too high there and seals sooner. A
// log's claim is 16 bytes and its share of a batch of thousands; if batches are small, or with
// fingerprints, that estimate is too high as well.
std::int64_t estimated_claims(std::int64_t bytes, StoreKind store = StoreKind::table);

// An empty generation is kept at any age: sealing it would cost every batch one more probe, for
// nothing.
Rotation rotation_due(const CurrentGeneration& current, const LedgerOptions& options);
// About how long it takes until the generation has its size, or has used up its memory, at its pace
// so far: when to look again. A day at most.
std::chrono::milliseconds full_in(const CurrentGeneration& current, const LedgerOptions& options);

// Whether a time of the day is within the hours.
bool within(const DailyHours& hours, std::chrono::minutes of_day);

}  // namespace onceward
