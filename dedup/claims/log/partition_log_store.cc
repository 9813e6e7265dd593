#include "dedup/claims/log/partition_log_store.h"

#include <algorithm>
#include <list>
#include <stdexcept>

#include "dedup/base/expects.h"
#include "dedup/claims/log/log_reader.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr int most_loads = 3;
// How long a batch waits at most while filters are read.
constexpr auto longest_filter_wait = std::chrono::milliseconds(10);
// Counting the bytes of all windows takes long if there are many partitions.
constexpr auto count_every = std::chrono::milliseconds(200);

}  // namespace

void PartitionLogStore::load(Connection& connection, Partition partition) {
    for (int loads = 0; loads < most_loads; ++loads) {
        std::shared_ptr<LogWindow> window = windows_->make(ledger_);
        try {
            if (read_on(connection, {ledger_, LogScope::Part{source_, partition}}, *window)) {
                parts_[partition].window = std::move(window);
                return;
            }
        } catch (const PostgresError& error) {
            if (!table_is_gone(error)) throw;
        }
    }
    try_again("the log is dropped faster than it is read");
}

// DANGER: forget all of it, also after a batch that was given up. The next batch would not open a
// part that still held claims, and its messages in that part would be applied without a claim.
void PartitionLogStore::forget_batch() {
    for (auto& [partition, part] : parts_) {
        part.claims.clear();
        part.places.clear();
        part.append.clear();
    }
    open_.clear();
}

void PartitionLogStore::partitions_taken(Connection& connection,
                                         std::span<const TopicPartition> partitions) {
    // Read this first: then the next batch sees an eviction that happens while windows are read.
    const QueryResult current = connection.prepared(sql::log_current, {ledger_}, {}, true);
    if (current.rows() == 0) try_again("the ledger has no generation yet");
    if (parts_.empty()) {
        evictions_ = current.binary_integer(0, 1);
        generation_ = current.binary_integer(0, 2);
    }
    forget_batch();
    for (const TopicPartition& partition : partitions) {
        parts_.erase(partition.partition);
        load(connection, partition.partition);
    }
    next_count_ = {};
}

void PartitionLogStore::partitions_lost(std::span<const TopicPartition> partitions) {
    forget_batch();
    for (const TopicPartition& partition : partitions) parts_.erase(partition.partition);
}

// DANGER: a take-over comes before the next batch, and reads all of it again.
void PartitionLogStore::connection_lost() {
    open_.clear();
    parts_.clear();
}

void PartitionLogStore::move_on(const QueryResult& current) {
    generation_ = current.binary_integer(0, 2);
    for (auto& [partition, part] : parts_) {
        part.window->next_generation(generation_);
        part.window->forget_before(current.binary_integer(0, 4));
    }
}

// A window is read only at the take-over; later its sealed generations become filters. Each call
// looks for one window, so that no batch waits for all of them. It takes the one whose look has
// been due for longest: if there are many, the last ones would otherwise never have their turn.
void PartitionLogStore::look_at_one_window(Connection& connection) {
    const auto first = std::ranges::min_element(parts_, {}, [](const auto& entry) {
        return entry.second.window->next_segments_look.load();
    });
    if (first == parts_.end()) return;
    try {
        const LogScope scope{ledger_, LogScope::Part{source_, first->first}};
        if (!follow_segments(connection, scope, *first->second.window)) return;
        const QueryResult current = connection.prepared(sql::log_current, {ledger_}, {}, true);
        // So that the next batch is not appended to a log that became a segment meanwhile.
        if (current.rows() == 1) move_on(current);
    } catch (const PostgresError& error) {
        // Dropped meanwhile: the digests stay until a batch sees that.
        if (!table_is_gone(error)) throw;
    }
}

bool PartitionLogStore::read_missing_filters(Connection& connection) {
    bool missing = false;
    std::vector<LogWindow*> mine;
    for (auto& [partition, part] : parts_) {
        missing = missing || part.window->missing_filter();
        mine.push_back(part.window.get());
    }
    const auto now = LogWindow::Clock::now();
    if (mine.empty() || (!missing && now < next_count_)) return true;
    try {
        const auto time = std::min(longest_filter_wait, windows_->reading_time(now));
        const bool fits = read_filters(connection, ledger_, mine, *windows_, time);
        // Beyond the limit each batch counts, and waits.
        next_count_ = fits ? now + count_every : LogWindow::Clock::time_point{};
        return fits;
    } catch (const PostgresError& error) {
        // Dropped meanwhile: a batch sees that.
        if (!table_is_gone(error)) throw;
        return true;
    }
}

void PartitionLogStore::catch_up(Connection& connection) {
    if (!read_news(connection)) pause_for_sealing(ledger_, *windows_);
}

void PartitionLogStore::follow(Connection& connection) { read_news(connection); }

bool PartitionLogStore::read_news(Connection& connection) {
    if (!must_load_) {
        look_at_one_window(connection);
        return read_missing_filters(connection);
    }
    std::vector<TopicPartition> all;
    for (auto& [partition, part] : parts_) {
        all.push_back({"", partition});
        part.window.reset();
    }
    // DANGER: read into a separate store. If that fails half-way, all partitions are still mine and
    // must be read.
    PartitionLogStore read(ledger_, source_, windows_);
    read.partitions_taken(connection, all);
    *this = std::move(read);
    return true;
}

// The next catch_up() looks at the generations, and then all windows forget what has expired. Their
// other claims still hold, and reading them again takes long: all partitions would wait for it. If
// the next batch misses a segment again, something else is wrong, and all is read.
void PartitionLogStore::segment_was_dropped() {
    must_load_ = must_load_ || asked_for_dropped_;
    asked_for_dropped_ = true;
    // One window's look is for all of them. There is one: a claim of its partition was looked up.
    parts_.begin()->second.window->next_segments_look = LogWindow::Clock::time_point{};
}

std::optional<std::vector<ClaimAnswer>> PartitionLogStore::claim(Transaction& transaction,
                                                                 std::span<const Claim> claims) {
    forget_batch();
    for (std::size_t i = 0; i < claims.size(); ++i) {
        const auto found = parts_.find(claims[i].partition);
        expects(found != parts_.end(), "the window of a claim's partition was read");
        Part& part = found->second;
        if (part.claims.empty()) open_.push_back(&part);
        part.claims.push_back(claims[i]);
        part.places.push_back(i);
    }
    std::vector<ClaimAnswer> answers(claims.size());
    std::vector<ClaimAnswer> known;
    std::vector<LogWindow::Suspect> suspects, all;
    for (Part* part : open_) {
        known.assign(part->claims.size(), {});
        suspects.clear();
        part->window->look_up(part->claims, known, suspects);
        for (std::size_t i = 0; i < known.size(); ++i) answers[part->places[i]] = known[i];
        for (const LogWindow::Suspect& suspect : suspects) {
            all.push_back(
                {suspect.generation, suspect.merge, suspect.part, part->places[suspect.place]});
        }
    }
    std::ranges::stable_sort(all, {}, &LogWindow::Suspect::generation);
    try {
        verify(transaction, ledger_, all, claims, answers);
    } catch (const PostgresError& error) {
        if (!table_is_gone(error)) throw;
        segment_was_dropped();
        try_again("a segment was dropped");
    }
    asked_for_dropped_ = false;
    for (Part* part : open_) {
        for (const std::size_t place : part->places) {
            if (answers[place].verdict == Verdict::fresh) part->append.add(claims[place]);
        }
    }
    return answers;
}

std::vector<std::vector<ClaimPlace>> PartitionLogStore::places(Transaction& transaction,
                                                               std::span<const Claim> claims) {
    return log_places(transaction, ledger_, claims,
                      [&](const Claim& claim) { return parts_.at(claim.partition).window.get(); });
}

bool PartitionLogStore::still_holds(const QueryResult& current) {
    if (current.rows() == 0 || current.binary_integer(0, 1) != evictions_) {
        must_load_ = true;
        return false;
    }
    if (current.text(0, 3) != std::string_view("\1", 1)) {
        throw std::runtime_error("the ledger's reach is global by now; configure it so");
    }
    const std::int64_t before = generation_;
    move_on(current);
    return generation_ == before;
}

Settlement PartitionLogStore::settle(Transaction& transaction) {
    if (open_.empty()) return Settlement::settled;
    const auto names = log_names(ledger_, generation_);
    const Parameters ledger{ledger_};
    // DANGER: read the current generation in a statement after the lock's. The lock's own statement
    // would not see a rotation that it waited for.
    std::vector<Connection::Statement> statements{
        {sql::no_limits},
        {sql::log_lock_shared, ledger},
        {sql::log_current, ledger},
    };
    std::list<Parameters> rows;
    std::vector<Part*> appended;
    for (Part* part : open_) {
        if (part->append.empty()) continue;
        appended.push_back(part);
        statements.push_back(
            {sql::log_append, rows.emplace_back(part->append.parameters(source_)), names});
    }
    try {
        const std::vector<QueryResult> results = transaction.pipelined(statements);
        for (std::size_t i = 0; i < appended.size(); ++i) {
            appended[i]->seq = results[3 + i].binary_integer(0, 0);
        }
        // An exception from still_holds() leaves the transaction, too.
        return still_holds(results[2]) ? Settlement::settled : Settlement::again;
    } catch (const PostgresError& error) {
        if (!table_is_gone(error)) throw;
        must_load_ = true;
        try_again("the generation was dropped");
    }
}

void PartitionLogStore::committing() {
    for (Part* part : open_) part->window->make_room(generation_, part->append.digests());
}

void PartitionLogStore::committed() {
    for (Part* part : open_) {
        if (part->append.empty()) continue;
        const LogBatch mine = part->append.batch(part->seq);
        part->window->take_in(generation_, {&mine, 1});
        part->append.clear();
    }
}

}  // namespace onceward
