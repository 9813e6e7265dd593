#include "dedup/claims/log_reader.h"

#include <algorithm>

#include "schemas/queries.h"

namespace onceward {
namespace {

// Batches in one answer, so that it stays at some megabytes: many where they are small.
constexpr std::size_t fewest = 16;
constexpr std::size_t most = 8192;
constexpr std::size_t small_answer = std::size_t{1} << 20;
constexpr std::size_t large_answer = std::size_t{8} << 20;

std::size_t next_limit(std::size_t limit, std::size_t bytes) {
    if (bytes < small_answer) return std::min(2 * limit, most);
    if (bytes > large_answer) return std::max(limit / 2, fewest);
    return limit;
}

// The ledger, with the oldest of its generations that come after one; 0: none does.
LogState state_after(Connection& connection, int ledger, std::int64_t generation) {
    const Result rows = connection.prepared(sql::log_state, Parameters{}.integer(ledger), {}, true);
    for (int row = 0; row < rows.rows(); ++row) {
        if (rows.binary_integer(row, 2) <= generation) continue;
        return {rows.binary_integer(row, 2), rows.binary_integer(row, 0),
                rows.binary_integer(row, 1)};
    }
    return {};
}

}  // namespace

std::string log_server(Connection& connection) {
    return std::string(connection.query(sql::log_server, {}).text(0, 0));
}

void read_again(const char* why) {
    throw PostgresError(
        {.sqlstate = "40001", .message = why, .constraint = {}, .column = {}, .routine = {}});
}

bool table_is_gone(const PostgresError& error) { return error.sqlstate() == "42P01"; }

LogLook look_at(Connection& connection, const LogScope& scope, const LogWindow::Position& at,
                std::size_t limit) {
    const LogNames names(scope.ledger, at.generation);
    Parameters parameters;
    parameters.integer(scope.ledger).integer(at.last).integer(static_cast<std::int64_t>(limit));
    if (!scope.part) {
        return LogLook(connection.prepared(sql::log_look, parameters, names.names(), true));
    }
    parameters.integer(scope.part->source).integer(scope.part->partition.raw());
    return LogLook(
        connection.prepared(sql::log_look_at_partition, parameters, names.names(), true));
}

bool read_on(Connection& connection, const LogScope& scope, LogWindow& window) {
    if (window.position().generation == 0) {
        const LogState oldest = state_after(connection, scope.ledger, 0);
        if (oldest.generation == 0) read_again("the ledger has no generation yet");
        window.begin(oldest);
    }
    std::size_t limit = 64;
    while (true) {
        const LogWindow::Position at = window.position();
        const LogLook look = look_at(connection, scope, at, limit);
        if (judge(look.state, at, look.batches.size(), limit) == LookVerdict::gone) return false;
        window.take_in(at.generation, look.batches);
        window.forget_through(look.state.floor);
        if (look.batches.size() >= limit) {
            limit = next_limit(limit, look.bytes());
            continue;
        }
        if (look.state.generation == at.generation) {
            window.looked(LogWindow::Clock::now());
            return true;
        }
        // Another generation was current in the very snapshot that held all the rest of this one.
        const LogState after = state_after(connection, scope.ledger, at.generation);
        if (after.generation == 0 || after.floor > window.position().last) return false;
        window.next_generation(after.generation);
    }
}

}  // namespace onceward
