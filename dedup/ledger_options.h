#pragma once
// A ledger: a set of claims with one retention, store and reach. Plain values.

#include <chrono>
#include <cstdint>
#include <string>

namespace onceward {

enum class StoreKind : std::uint8_t { table, log, lease };
enum class Reach : std::uint8_t { global, partition };

struct LedgerOptions {
    std::string name;  // default: `<group>/<topic>`
    StoreKind store = StoreKind::table;
    Reach reach = Reach::global;
    // How long, in the log's time, a claim is kept at least. Longer finds later duplicates and
    // takes more disk.
    std::chrono::seconds retention{24 * 3600};
    // A generation is sealed at this age or size, whichever comes first; shorter frees disk sooner,
    // and every sealed generation costs one more probe a batch.
    std::chrono::milliseconds rotate_after{3 * 3600 * 1000};
    std::int64_t rotate_claims = 50'000'000;
};

}  // namespace onceward
