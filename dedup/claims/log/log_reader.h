#pragma once
// Reads a ledger's log into a window, outside of any transaction: each read is a transaction of its
// own, and sees what is committed by then. Reads segments too: their filters into a window, a block
// if a filter says yes, and where earlier claims came from. Used by one thread; failures are
// PostgresErrors, and std::runtime_error if a stored filter is invalid.

#include <chrono>
#include <functional>
#include <span>
#include <vector>

#include "dedup/claims/claim_store.h"
#include "dedup/claims/log/log_window.h"
#include "dedup/postgres/connection.h"
#include "dedup/postgres/transaction.h"

namespace onceward {

// What part of a ledger's log a window holds.
struct LogScope {
    int ledger = 0;
    // With `reach: partition`: the part of one partition of one source.
    struct Part {
        int source = 0;
        Partition partition;
    };
    std::optional<Part> part = std::nullopt;
};

// What follows the ledger in the names of a generation's tables: the number of the generation, and
// that of the merge if they are the tables of a merged segment.
inline std::string table_ending(std::int64_t generation, int merge) {
    return std::to_string(generation) + (merge > 0 ? "m" + std::to_string(merge) : "");
}
// A statement's names for one generation of a ledger.
inline Connection::Names log_names(int ledger, std::int64_t generation, int merge = 0) {
    return {{"ledger", std::to_string(ledger)}, {"generation", table_ending(generation, merge)}};
}

// Which server the session is with; see LogWindows::join().
std::string log_server(Connection& connection);

// Reads from the window's position to the end of what is committed, through all generations. False:
// a part of the log, or a claim, was removed unseen, and the window is of no use any more.
bool read_on(Connection& connection, const LogScope& scope, LogWindow& window);

// Generations whose digests the window holds one by one may have become segments by now. Asks for
// them only once in a while; returns whether it did.
bool follow_segments(Connection& connection, const LogScope& scope, LogWindow& window);

// Reads at most `limit` batches from that position on.
LogLook look_at(Connection& connection, const LogScope& scope, const LogWindow::Position& at,
                std::size_t limit);

// Reads filters that the segments of these windows lack, those of the newest segments first: at
// least one, and more as long as `time` lasts and the process's windows have room. If the process
// holds more than its limit, drops filters of these windows instead, and returns false. Outside of
// any transaction. Without its filter each claim is looked up in the segment. REQUIRES: there is a
// window.
bool read_filters(Connection& connection, int ledger, std::span<LogWindow* const> mine,
                  LogWindows& windows, std::chrono::milliseconds time);

// Before a batch of a process that held more than its limit: if it still does, and the ledger has
// many recent claims that become filters soon, pauses for a moment.
void pause_for_sealing(int ledger, const LogWindows& windows);

// Looks up the claims that filters said yes to, and answers for those that a segment really holds.
// In the transaction of the batch, a statement for each segment. REQUIRES: the suspects are in the
// order of their generations.
void verify(Transaction& transaction, int ledger, std::span<const LogWindow::Suspect> suspects,
            std::span<const Claim> claims, std::span<ClaimAnswer> answers);

// Returns the places of each claim, in the order of the claims. In the transaction of the batch, a
// statement for each generation of the log. `window_of`: which window knows where a claim may have
// come from. Throws 40001 if a generation's table was dropped meanwhile.
std::vector<std::vector<ClaimPlace>> log_places(
    Transaction& transaction, int ledger, std::span<const Claim> claims,
    const std::function<const LogWindow*(const Claim&)>& window_of);

}  // namespace onceward
