#include "dedup/claims/log/log_reader.h"

#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "dedup/base/expects.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

// Batches in one answer, so that it stays at some megabytes: many if they are small.
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

// A generation that has become a segment, and those of its parts that are asked for.
struct PublishedSegment {
    std::int64_t generation = 0;
    int merge = 0;
    std::int64_t last = 0;
    std::vector<PartExtent> parts;
};

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
                found.segments.push_back({number,
                                          static_cast<int>(rows.binary_integer(row, 8)),
                                          rows.binary_integer(row, 9),
                                          {}});
            }
            const bool in_parts = rows.text(row, 3) == std::string_view("\1", 1);
            const PartExtent part{.number = static_cast<int>(rows.binary_integer(row, 6)),
                                  .claims = rows.binary_integer(row, 4),
                                  .shard_bits = static_cast<int>(rows.binary_integer(row, 5)),
                                  .first_filter = static_cast<int>(rows.binary_integer(row, 7))};
            // Otherwise the partition has no claim in the segment.
            if (!in_parts || part.number != 0) found.segments.back().parts.push_back(part);
        } else if (number > generation && found.oldest.generation == 0) {
            found.oldest = {.generation = number,
                            .floor = rows.binary_integer(row, 0),
                            .evictions = rows.binary_integer(row, 1)};
        }
    }
    return found;
}

// Adds the segments that the window lacks, without their filters.
void put_segments(std::span<const PublishedSegment> segments, LogWindow& window) {
    for (const PublishedSegment& segment : segments) {
        if (window.has_segment(segment.generation, segment.merge)) continue;
        LogWindow::Segment put{segment.merge, segment.last, {}};
        for (const PartExtent& part : segment.parts) {
            put.parts.push_back({part.number, part.first_filter,
                                 std::make_shared<SegmentFilter>(part.shard_bits, part.claims)});
        }
        window.put_segment(segment.generation, std::move(put));
    }
}

using Batches = std::multimap<std::int64_t, std::size_t>;

// How often each generation that is a segment was merged.
std::map<std::int64_t, int> segments_of(Transaction& transaction, int ledger) {
    std::map<std::int64_t, int> segments;
    const QueryResult rows =
        transaction.prepared(sql::log_state, {ledger, std::nullopt, std::nullopt}, {}, true);
    for (int row = 0; row < rows.rows(); ++row) {
        if (rows.is_null(row, 3)) continue;
        segments.emplace(rows.binary_integer(row, 2),
                         static_cast<int>(rows.binary_integer(row, 8)));
    }
    return segments;
}

void ask_batches(Transaction& transaction, const std::string& table, const Batches& claims,
                 ClaimPlaces& places) {
    std::vector<std::int64_t> seqs;
    for (const auto& [seq, claim] : claims) seqs.push_back(seq);
    places.take_batches(transaction.query(sql::log_places, {seqs}, {{"table", table}}), claims);
}

void ask_segment(Transaction& transaction, const std::string& ending, std::span<const Claim> claims,
                 const ClaimPlaces::Parts& asked, ClaimPlaces& places) {
    std::set<Digest> digests;
    for (const auto& [claim, part] : asked) digests.insert(claims[claim].digest);
    const bool whole = asked.begin()->second == 0;
    places.take(
        transaction.query(whole ? sql::explain_segment_claim : sql::explain_parts_claim,
                          {std::vector(digests.begin(), digests.end())}, {{"table", ending}}),
        &asked);
}

// Before each batch while recent claims take more memory than they may.
constexpr auto pause_if_over = std::chrono::milliseconds(20);

// No ledger pauses for the memory of others, nor for a generation that retention leaves open: that
// may last for hours.
bool sealing_frees_memory(int ledger, const LogWindows& windows) {
    return windows.bytes() > windows.limit() && windows.holds_much(ledger);
}

// Returns whether the process holds no more than its limit. If it holds more, drops filters of
// these windows, and looks for segments soon if that is not enough.
bool within_limit(int ledger, std::span<LogWindow* const> mine, const LogWindows& windows) {
    const std::size_t limit = windows.limit();
    const std::size_t bytes = windows.bytes();
    if (bytes <= limit) return true;
    // Each window drops the same, so that the oldest filters of all partitions go first. A batch
    // then looks its claims up in few segments.
    for (LogWindow* window : mine) window->drop_filters((bytes - limit) / mine.size() + 1);
    if (sealing_frees_memory(ledger, windows)) {
        for (LogWindow* window : mine) window->look_for_segments_soon();
    }
    return false;
}

// A window that this worker alone reads filters into, for as long as this lives.
struct LackingWindow {
    std::unique_ptr<LogWindow, void (*)(LogWindow*)> window;
    LogWindow::MissingFilter next;
    std::int64_t before = LogWindow::all_generations;  // only filters of earlier segments are read
};

// Those that lack filters, but not those that another worker reads filters into.
std::vector<LackingWindow> lacking(std::span<LogWindow* const> mine) {
    std::vector<LackingWindow> found;
    for (LogWindow* window : mine) {
        if (window->filter_under_way.exchange(true)) continue;
        LackingWindow one{{window, [](LogWindow* of) { of->filter_under_way = false; }}, {}};
        if (const auto missing = window->missing_filter()) {
            one.next = *missing;
            found.push_back(std::move(one));
        }
    }
    return found;
}

// Reads the window's next filter, and finds the one after that. Returns whether there is one.
bool read_next_filter(Connection& connection, int ledger, LackingWindow& of) {
    const LogWindow::MissingFilter& next = of.next;
    const QueryResult row = connection.prepared(
        sql::segment_filters, {next.number}, log_names(ledger, next.generation, next.merge), true);
    if (row.rows() == 0) {
        // The segment was merged into another (see publish_merge), or a conversion was cut short
        // before it wrote this filter. Filters of earlier segments exist all the same.
        of.window->look_for_segments_soon();
        of.before = next.generation;
    } else {
        of.window->put_filter(next, FuseFilter(row.text(0, 0)));
    }
    const auto missing = of.window->missing_filter(of.before);
    if (missing) of.next = *missing;
    return missing.has_value();
}

}  // namespace

std::string log_server(Connection& connection) {
    return std::string(connection.query(sql::log_server, {}).text(0, 0));
}

LogLook look_at(Connection& connection, const LogScope& scope, const LogWindow::Position& at,
                std::size_t limit) {
    const auto names = log_names(scope.ledger, at.generation);
    Parameters parameters{scope.ledger, at.last, limit};
    if (scope.part) parameters.integer(scope.part->source).integer(scope.part->partition.raw());
    return LogLook(connection.prepared(scope.part ? sql::log_look_at_partition : sql::log_look,
                                       parameters, names, true));
}

bool follow_segments(Connection& connection, const LogScope& scope, LogWindow& window) {
    const auto now = LogWindow::Clock::now();
    auto due = window.next_segments_look.load();
    if (now < due) return false;
    // One of the process's workers asks for all.
    const auto next = now + look_for_segments_every;
    if (!window.next_segments_look.compare_exchange_strong(due, next)) return false;
    put_segments(generations_after(connection, scope, 0).segments, window);
    return true;
}

bool read_on(Connection& connection, const LogScope& scope, LogWindow& window) {
    if (window.position().generation == 0) {
        const Generations all = generations_after(connection, scope, 0);
        if (all.oldest.generation == 0) try_again("the ledger has no generation yet");
        // Segments are below the floor, and older than the generations that are still a log.
        put_segments(all.segments, window);
        window.next_segments_look = LogWindow::Clock::now() + look_for_segments_every;
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
            window.last_look = LogWindow::Clock::now();
            follow_segments(connection, scope, window);
            return true;
        }
        // The snapshot that held all the rest of this generation had another current one.
        const LogState after = generations_after(connection, scope, at.generation).oldest;
        if (after.generation == 0 || after.floor > window.position().last) return false;
        window.next_generation(after.generation);
    }
}

bool read_filters(Connection& connection, int ledger, std::span<LogWindow* const> mine,
                  LogWindows& windows, std::chrono::milliseconds time) {
    const auto until = LogWindow::Clock::now() + time;
    if (!within_limit(ledger, mine, windows)) return false;
    const std::size_t limit = windows.limit();
    std::vector<LackingWindow> left = lacking(mine);
    // Some room is left for recent claims, or filters would be read and dropped in turn.
    while (!left.empty() && windows.bytes() < limit - limit / 8) {
        // The newest of all windows, as within_limit() drops the oldest of all. Otherwise the first
        // windows would have the whole room, and the others would look up each claim.
        const auto newest = std::ranges::max_element(
            left, {}, [](const LackingWindow& one) { return one.next.generation; });
        if (!read_next_filter(connection, ledger, *newest)) left.erase(newest);
        const auto now = LogWindow::Clock::now();
        windows.filters_read(now);
        if (now >= until) break;
    }
    return true;
}

void pause_for_sealing(int ledger, const LogWindows& windows) {
    if (sealing_frees_memory(ledger, windows)) std::this_thread::sleep_for(pause_if_over);
}

void verify(Transaction& transaction, int ledger, std::span<const LogWindow::Suspect> suspects,
            std::span<const Claim> claims, std::span<ClaimAnswer> answers) {
    expects(std::ranges::is_sorted(suspects, {}, &LogWindow::Suspect::generation),
            "suspects are in their generations' order");
    std::vector<Digest> digests;
    std::vector<std::int32_t> parts;
    std::vector<std::size_t> places;
    for (std::size_t begin = 0; begin < suspects.size();) {
        const std::int64_t generation = suspects[begin].generation;
        const auto names = log_names(ledger, generation, suspects[begin].merge);
        digests.clear();
        parts.clear();
        places.clear();
        std::size_t end = begin;
        for (; end < suspects.size() && suspects[end].generation == generation; ++end) {
            const std::size_t place = suspects[end].place;
            if (answers[place].verdict != Verdict::fresh) continue;
            digests.push_back(claims[place].digest);
            parts.push_back(suspects[end].part);
            places.push_back(place);
        }
        begin = end;
        if (digests.empty()) continue;
        const bool whole = parts.front() == 0;
        Parameters parameters{digests};
        if (!whole) parameters.small_integers(parts);
        const QueryResult found = transaction.prepared(
            whole ? sql::segment_find : sql::segment_find_in_parts, parameters, names, true);
        for (int row = 0; row < found.rows(); ++row) {
            const std::size_t place =
                places[static_cast<std::size_t>(found.binary_integer(row, 0) - 1)];
            std::optional<Digest> fingerprint;
            if (!found.is_null(row, 1)) {
                fingerprint = unpacked_fingerprint(digests_in(found.text(row, 1))[0]);
            }
            answers[place] = earlier_claim(claims[place], fingerprint);
        }
    }
}

std::vector<std::vector<ClaimPlace>> log_places(
    Transaction& transaction, int ledger, std::span<const Claim> claims,
    const std::function<const LogWindow*(const Claim&)>& window_of) {
    std::map<std::int64_t, Batches> batches;
    std::map<std::pair<std::int64_t, int>, ClaimPlaces::Parts> parts;
    for (std::size_t claim = 0; claim < claims.size(); ++claim) {
        for (const auto& at : window_of(claims[claim])->whereabouts(claims[claim].digest)) {
            if (at.seq > 0) {
                batches[at.generation].emplace(at.seq, claim);
            } else {
                parts[{at.generation, at.merge}].emplace(claim, at.part);
            }
        }
    }
    ClaimPlaces places(claims);
    const std::string begin = std::to_string(ledger) + "_";
    try {
        // The log of a generation that has become a segment is dropped; its batches are kept.
        const std::map<std::int64_t, int> segments = segments_of(transaction, ledger);
        for (const auto& [generation, seqs] : batches) {
            const auto segment = segments.find(generation);
            const std::string table =
                segment == segments.end()
                    ? "claims_" + begin + std::to_string(generation)
                    : "batches_" + begin + table_ending(generation, segment->second);
            ask_batches(transaction, table, seqs, places);
        }
        for (const auto& [segment, asked] : parts) {
            const std::string ending = begin + table_ending(segment.first, segment.second);
            ask_segment(transaction, ending, claims, asked, places);
        }
    } catch (const PostgresError& error) {
        if (!table_is_gone(error)) throw;
        try_again("a generation was dropped, or became a segment, during the read");
    }
    return std::move(places.all);
}

}  // namespace onceward
