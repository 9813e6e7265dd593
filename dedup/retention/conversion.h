#pragma once
// Converts a `table` ledger to a log while its workers run. It makes a segment of each sealed
// generation, one after the other; nobody reads these until the end. Then one short transaction
// makes a segment of the open generation, publishes all of them, and drops the tables. Before that
// transaction the tables decide each claim, after it the log does: there is no time in which a key
// is not found. It may be cut short at any line, and the next run continues with the segments that
// are ready. Used by one thread; failures are PostgresErrors.
//
// Needs a session of the schema's owner, whose tables are made and dropped.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "dedup/postgres/connection.h"
#include "dedup/retention/sealing.h"

namespace onceward {

// Why a ledger cannot be converted, or not now. The text says what to do.
class ConversionRefused : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// What a conversion finds.
struct ConversionPlan {
    struct Generation {
        std::int64_t generation = 0;
        bool sealed = false;
        std::int64_t bytes = 0;  // of its table, without the index
        // The number of the last claim that was taken out of it by hand; 0: none was.
        std::int64_t last_eviction = 0;
        // The claims of its segment, if that is ready.
        std::optional<std::int64_t> claims{};
        int shard_bits = 0;
    };
    int ledger = 0;
    bool is_log = false;  // there is nothing to do
    std::string fed_by;   // groups and topics, for people
    std::vector<Generation> generations;
    // Counted if they are few, and otherwise estimated from the table's size.
    std::int64_t claims = 0;
    std::int64_t open_claims = 0;
};

enum class ConversionStep : std::uint8_t {
    tables_made,    // those of a generation's segment
    part_written,   // some of its claims
    segment_ready,  // and waits for the switch
    rotated,        // the open generation was too large for the switch
    switching,      // what follows is the short transaction
    switched,       // all that is missing is a filter
};

struct ConversionOptions {
    // The switch makes a segment of the open generation. If that has more claims than this, it is
    // first sealed and made a segment while claims continue. So many claims take the switch about
    // half a second, in which claims wait.
    std::int64_t most_open_claims = 100'000;
    SealingOptions sealing{.lock_timeout = std::chrono::milliseconds(1500)};
    // Called at each step, with the generation and the claims that it is about. If it throws, the
    // conversion ends.
    std::function<void(ConversionStep, std::int64_t generation, std::int64_t claims)> reached{};
};

struct ConversionReport {
    bool converted = false;  // false: the ledger is a log already
    std::int64_t segments = 0;
    std::int64_t claims = 0;
    // How long claims of the ledger waited at most, in all tries to take its lock.
    std::chrono::milliseconds waited{0};
};

// What a conversion would find. Throws ConversionRefused.
ConversionPlan plan_conversion(Connection& connection, const std::string& ledger);

// Returns once the ledger is a log. Throws ConversionRefused: also if another process converts it,
// or if its lock, or that of one of its tables, was not available.
ConversionReport convert_to_log(Connection& connection, const std::string& ledger,
                                const ConversionOptions& options = {});

}  // namespace onceward
