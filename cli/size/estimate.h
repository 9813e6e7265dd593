#pragma once
// What a ledger needs by the measured figures: disk, memory, WAL, CPU and the time of a start. Pure
// arithmetic; docs/scale.md has the figures and says what was not measured.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "dedup/ledger/ledger_options.h"

namespace onceward {

struct Workload {
    double rate = 0;  // messages a second, each with a key of its own
    std::chrono::seconds retention{std::chrono::hours(24)};
    std::chrono::seconds rotate_after{std::chrono::hours(3)};
    std::int64_t rotate_claims = 2'000'000;  // of a log; the default of `reach: global`
    std::int64_t processes = 1;
    std::int64_t message_bytes = 374;  // of the row that a message becomes
    std::int64_t memory_claims = std::int64_t{256} << 20;  // bytes; the option of that name
};

struct Claims {
    double live = 0;
    double open = 0;  // among them: of the generation that is written
};
Claims claims_of(const Workload& workload);

// One number, and how it was computed.
struct Estimate {
    double value = 0;
    std::string formula{};
};

struct SizeEstimate {
    StoreKind store = StoreKind::table;
    Estimate disk{};      // bytes
    Estimate memory{};    // bytes of claims in each process, memory.claims at most
    double claims_memory = 0;  // bytes that all of them need
    Estimate wal{};       // bytes a second, without the sink's rows
    Estimate row_wal{};   // bytes a second of these, at least
    std::optional<Estimate> worker_cores{};  // of all processes; nullopt: not measured
    std::optional<Estimate> server_cores{};
    Estimate start{};     // seconds
};
SizeEstimate estimate(StoreKind store, const Workload& workload);

}  // namespace onceward
