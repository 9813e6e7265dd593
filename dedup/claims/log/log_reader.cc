#include "dedup/claims/log/log_reader.h"

#include <algorithm>
#include <vector>

#include "dedup/claims/log/segment_reader.h"
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

constexpr auto look_for_segments_every = std::chrono::seconds(30);

struct Generations {
    // The ledger, with its oldest generation that is still a log; generation 0: there is none.
    LogState oldest;
    std::vector<PublishedSegment> segments;
};

// Returns the generations after `generation`, and all segments.
Generations generations_after(Connection& connection, const LogScope& scope,
                              std::int64_t generation) {
    Generations found;
    const auto& part_of = scope.part;
    const QueryResult rows =
        connection.prepared(sql::log_state,
                            {scope.ledger, part_of ? std::optional(part_of->source) : std::nullopt,
                             part_of ? std::optional(part_of->partition) : std::nullopt},
                            {}, true);
    for (int row = 0; row < rows.rows(); ++row) {
        const std::int64_t number = rows.binary_integer(row, 2);
        if (!rows.is_null(row, 3)) {
            if (found.segments.empty() || found.segments.back().generation != number) {
                found.segments.push_back({number, {}});
            }
            const bool in_parts = rows.text(row, 3) == std::string_view("\1", 1);
            const PartExtent part{.number = static_cast<int>(rows.binary_integer(row, 6)),
                                  .claims = rows.binary_integer(row, 4),
                                  .shard_bits = static_cast<int>(rows.binary_integer(row, 5)),
                                  .first_filter = static_cast<int>(rows.binary_integer(row, 7))};
            // Else the partition has no claim in it.
            if (!in_parts || part.number != 0) found.segments.back().parts.push_back(part);
        } else if (number > generation && found.oldest.generation == 0) {
            found.oldest = {.generation = number,
                            .floor = rows.binary_integer(row, 0),
                            .evictions = rows.binary_integer(row, 1)};
        }
    }
    return found;
}

}  // namespace

std::string log_server(Connection& connection) {
    return std::string(connection.query(sql::log_server, {}).text(0, 0));
}

bool table_is_gone(const PostgresError& error) { return error.sqlstate() == "42P01"; }

LogLook look_at(Connection& connection, const LogScope& scope, const LogWindow::Position& at,
                std::size_t limit) {
    const LogNames names(scope.ledger, at.generation);
    Parameters parameters{scope.ledger, at.last, limit};
    if (scope.part) parameters.integer(scope.part->source).integer(scope.part->partition.raw());
    return LogLook(connection.prepared(scope.part ? sql::log_look_at_partition : sql::log_look,
                                       parameters, names.names(), true));
}

bool follow_segments(Connection& connection, const LogScope& scope, LogWindow& window) {
    const auto now = LogWindow::Clock::now();
    if (now < window.last_segments_look() + look_for_segments_every) return false;
    window.segments_looked(now);
    read_segments(connection, scope.ledger, generations_after(connection, scope, 0).segments,
                  window);
    return true;
}

bool read_on(Connection& connection, const LogScope& scope, LogWindow& window) {
    if (window.position().generation == 0) {
        const Generations all = generations_after(connection, scope, 0);
        if (all.oldest.generation == 0) try_again("the ledger has no generation yet");
        // What has become a segment is below the floor, and older than what is still a log.
        read_segments(connection, scope.ledger, all.segments, window);
        window.segments_looked(LogWindow::Clock::now());
        window.begin(all.oldest);
    }
    std::size_t limit = 64;
    while (true) {
        const LogWindow::Position at = window.position();
        const LogLook look = look_at(connection, scope, at, limit);
        if (judge(look.state, at, look.batches.size(), limit) == LookVerdict::gone) return false;
        window.take_in(at.generation, look.batches);
        window.forget_before(look.state.oldest);
        if (look.batches.size() >= limit) {
            limit = next_limit(limit, look.bytes());
            continue;
        }
        if (look.state.generation == at.generation) {
            window.looked(LogWindow::Clock::now());
            follow_segments(connection, scope, window);
            return true;
        }
        // Another generation was current in the very snapshot that held all the rest of this one.
        const LogState after = generations_after(connection, scope, at.generation).oldest;
        if (after.generation == 0 || after.floor > window.position().last) return false;
        window.next_generation(after.generation);
    }
}

}  // namespace onceward
