#pragma once
// A ledger: a set of claims with one retention, store and reach. Plain values.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace onceward {

enum class StoreKind : std::uint8_t { table, log, lease };
// The name in the configuration and in the table `ledgers`.
constexpr std::string_view to_text(StoreKind store) {
    switch (store) {
        case StoreKind::table: return "table";
        case StoreKind::log: return "log";
        case StoreKind::lease: return "lease";
    }
    return "";
}
// The store of that name; nullopt for any other text.
constexpr std::optional<StoreKind> table_or_log(std::string_view name) {
    if (name == to_text(StoreKind::table)) return StoreKind::table;
    if (name == to_text(StoreKind::log)) return StoreKind::log;
    return std::nullopt;
}
enum class Reach : std::uint8_t { global, partition };

// Hours of each day in UTC, counted from midnight. They begin at `begin` and end before `end`, on
// the next day if `end` is the smaller one.
struct DailyHours {
    std::chrono::minutes begin{0};
    std::chrono::minutes end{0};
    friend bool operator==(const DailyHours&, const DailyHours&) = default;
};

struct LedgerOptions {
    std::string name;  // default: `<group>/<topic>`
    StoreKind store = StoreKind::table;
    // `store: auto`: an existing ledger keeps its store, table or log, also if that changes while
    // the process runs. `store` is that of a new ledger; the configuration makes it a log.
    bool any_store = false;
    Reach reach = Reach::global;
    // How long, in the log's time, a claim is kept at least. Longer finds later duplicates and
    // takes more disk.
    std::chrono::seconds retention{24 * 3600};
    // A generation is sealed at this age or size, whichever comes first; shorter frees disk sooner,
    // and every sealed generation costs one more probe a batch.
    std::chrono::milliseconds rotate_after{3 * 3600 * 1000};
    // nullopt: see rotation_claims().
    std::optional<std::int64_t> rotate_claims = std::nullopt;
    // Whether results are stored with the claims; a ledger that has begun to store them does not
    // stop. Not with `reach: partition`: a key may be applied once in each partition, and so has no
    // single answer.
    bool stores_results = false;
    // If set, expired claims are dropped only during these hours; unset means at any time. Fewer
    // hours keep claims, and their disk space, up to a day longer. A table whose claims are in a
    // segment by then is dropped at any time.
    std::optional<DailyHours> purge_hours = std::nullopt;
    // `lease`: how long a claim is held for an effect whose worker gives no sign of life. A shorter
    // lease continues sooner after a crash; it must be much longer than a try of the effect.
    std::chrono::milliseconds lease{60'000};
};

// Whether it is a log and nothing else: not one that may be a table as well.
constexpr bool only_log(const LedgerOptions& options) {
    return options.store == StoreKind::log && !options.any_store;
}

// Whether its segments are merged. Tables, segments in parts, and segments with results stay as
// they are made. A ledger that stores results may still have earlier segments to merge, or merged
// ones to drop.
constexpr bool merges(const LedgerOptions& options) {
    return options.store == StoreKind::log && options.reach == Reach::global;
}
// A log's claims are in memory one by one until their generation is sealed. So its generations are
// small if each process remembers all of its claims. With `reach: partition` segments are not
// merged, and a process remembers a part of the claims: generations are large, and retention seals
// one earlier if a process lacks the memory for its part (see LogWindows::fullness()). Segments
// with results are not merged either, but each process remembers all of their claims.
constexpr std::int64_t rotation_claims(const LedgerOptions& options) {
    return options.rotate_claims.value_or(merges(options) ? 2'000'000 : 50'000'000);
}

}  // namespace onceward
