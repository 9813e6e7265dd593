#pragma once
// Reads a ledger's log into a window, outside of any transaction: each read is one of its own, and
// sees what is committed by then. Used by one thread; failures are PostgresErrors.

#include "dedup/claims/log/log_window.h"
#include "dedup/postgres/connection.h"

namespace onceward {

// What part of a ledger's log a window holds.
struct LogScope {
    int ledger = 0;
    // With `reach: partition`: of one partition of one source.
    struct Part {
        int source = 0;
        Partition partition;
    };
    std::optional<Part> part = std::nullopt;
};

// A statement's names for one generation of a ledger.
class LogNames {
  public:
    LogNames(int ledger, std::int64_t generation)
        : ledger_(std::to_string(ledger)), generation_(std::to_string(generation)) {}
    Connection::Names names() const { return {{"ledger", ledger_}, {"generation", generation_}}; }

  private:
    std::string ledger_;
    std::string generation_;
};

// Whose server the session is with; see LogWindows::join().
std::string log_server(Connection& connection);

// Reads from the window's position to the end of what is committed, through all generations. False:
// the log below was taken away meanwhile, and the window is of no use any more.
bool read_on(Connection& connection, const LogScope& scope, LogWindow& window);

// Generations whose digests the window holds one by one may have become segments meanwhile. Asks
// once in a while only; whether it did.
bool follow_segments(Connection& connection, const LogScope& scope, LogWindow& window);

// One look from that position on, at no more than so many batches.
LogLook look_at(Connection& connection, const LogScope& scope, const LogWindow::Position& at,
                std::size_t limit);

// Whether the error says that a table is not there (42P01): retention dropped it.
bool table_is_gone(const PostgresError& error);

}  // namespace onceward
