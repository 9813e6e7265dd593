#pragma once
// What a process's retention job has done since it began. Plain values.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace onceward {

struct RetentionCounts {
    std::int64_t runs = 0;  // passes over all ledgers, failed ones included
    std::int64_t failures = 0;
    // Looks that failed, by the ledger's name.
    std::map<std::string, std::int64_t> failed_ledgers{};
    std::int64_t busy = 0;     // passes over a ledger that did not get a lock in time
    std::int64_t rotated = 0;  // generations
    std::int64_t sealed = 0;   // generations of logs that became segments
    std::int64_t expired = 0;  // generations
    std::int64_t leases = 0;   // ended ones that were deleted
    double seconds = 0;        // that the runs took
    std::optional<std::chrono::system_clock::time_point> last_success;
};

}  // namespace onceward
