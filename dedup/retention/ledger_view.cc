#include "dedup/retention/ledger_view.h"

#include <algorithm>
#include <array>

#include "dedup/base/expects.h"
#include "dedup/claims/log/log_window.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::int64_t largest_counted = 8LL * 1024 * 1024;
// Up to this many rows of a `lease` ledger are counted; larger ones are estimated from a sample.
constexpr std::int64_t most_leases_counted = 100'000;

// How many claims the generation may have.
std::int64_t most_claims_in(const CurrentGeneration& current, const LedgerOptions& options) {
    const std::int64_t configured = rotation_claims(options);
    if (current.memory == 0) return configured;
    const double fit = static_cast<double>(current.claims) / current.memory;
    if (fit >= static_cast<double>(configured)) return configured;
    return std::min(configured, std::max(fewest_claims_by_memory, static_cast<std::int64_t>(fit)));
}

}  // namespace

ClaimCount count_claims(Connection& connection, int ledger, std::int64_t generation,
                        std::int64_t bytes, StoreKind store) {
    expects(!connection.in_transaction(), "claims are counted outside of a transaction");
    if (bytes == 0) return {};
    // A generation of a `lease` ledger has only the results of its effects.
    if (bytes > largest_counted || store == StoreKind::lease) {
        return {estimated_claims(bytes, store), false};
    }
    try {
        const QueryResult count = connection.query(
            store == StoreKind::log ? sql::log_claims_count : sql::claims_count, {},
            {{"ledger", std::to_string(ledger)}, {"generation", std::to_string(generation)}});
        return {count.integer(0, 0), true};
    } catch (const PostgresError& error) {
        if (!table_is_gone(error)) throw;
        return {};  // retention has dropped it meanwhile
    }
}

std::vector<LedgerOptions> service_ledgers(Connection& connection) {
    const QueryResult rows = connection.query(sql::retention_service_ledgers, {});
    std::vector<LedgerOptions> ledgers;
    for (int row = 0; row < rows.rows(); ++row) {
        const bool lease = rows.text(row, 1) == "lease";
        ledgers.push_back({.name = std::string(rows.text(row, 0)),
                           .store = lease ? StoreKind::lease : StoreKind::table,
                           .retention = std::chrono::seconds(rows.integer(row, 2)),
                           .rotate_after = std::chrono::milliseconds(rows.integer(row, 3))});
    }
    return ledgers;
}

std::vector<LedgerView> view_ledgers(Connection& connection, const std::optional<std::string>& name,
                                     const std::optional<std::string>& group) {
    const QueryResult rows = connection.query(sql::ledger_sizes, {name, group});
    std::vector<LedgerView> ledgers;
    for (int row = 0; row < rows.rows(); ++row) {
        const auto text = [&](int column) { return std::string(rows.text(row, column)); };
        const int number = static_cast<int>(rows.integer(row, 0));
        const bool is_new = ledgers.empty() || ledgers.back().ledger != number;
        const auto age = std::chrono::seconds(rows.integer(row, 13));
        if (is_new) {
            ledgers.push_back({.ledger = number,
                               .name = text(1),
                               .store = text(2),
                               .reach = text(3),
                               .retention_text = text(4),
                               .retention = std::chrono::seconds(rows.integer(row, 5)),
                               .oldest = text(7),
                               .oldest_age = age});
        }
        LedgerView& view = ledgers.back();
        const StoreKind store = table_or_log(view.store).value_or(StoreKind::table);
        ++view.generations;
        const ClaimCount count =
            rows.is_null(row, 9)
                ? count_claims(connection, number, rows.integer(row, 6), rows.integer(row, 10),
                               store)
                : ClaimCount{rows.integer(row, 9),
                             view.store != "lease" || rows.integer(row, 9) < most_leases_counted};
        view.claims += count.claims;
        view.claims_counted = view.claims_counted && count.counted;
        view.bytes += rows.integer(row, 11);
        // greatest() ignores the null of a generation that is not sealed.
        view.held_back = std::max(view.held_back, std::chrono::seconds(rows.integer(row, 12)));
        view.leases_held += rows.integer(row, 14);
        view.leases_waiting += rows.integer(row, 15);
        view.oldest_lease =
            std::max(view.oldest_lease, std::chrono::seconds(rows.integer(row, 16)));
        view.takes_requests = rows.boolean(row, 17);
        view.has_inbox = rows.boolean(row, 18);
        view.of_group = rows.boolean(row, 19);
        view.results_bytes += rows.integer(row, 20);
        if (rows.is_null(row, 21)) continue;
        view.memory_begins = std::chrono::seconds(rows.integer(row, 21));
    }
    return ledgers;
}

void count_open_transactions(Connection& connection, std::vector<LedgerView>& ledgers) {
    if (std::ranges::none_of(ledgers, &LedgerView::has_inbox)) return;
    const QueryResult rows = connection.query(sql::ledger_open_transactions, {});
    for (int row = 0; row < rows.rows(); ++row) {
        const auto found = std::ranges::find(ledgers, rows.text(row, 0), &LedgerView::name);
        if (found == ledgers.end()) continue;
        found->open_transactions = rows.integer(row, 1);
        if (rows.is_null(row, 2)) continue;
        found->oldest_transaction = std::chrono::seconds(rows.integer(row, 2));
    }
}

std::vector<RetentionHolder> retention_holders(Connection& connection, int ledger, int limit) {
    const QueryResult rows = connection.query(sql::retention_holders, {ledger, limit});
    std::vector<RetentionHolder> holders;
    for (int row = 0; row < rows.rows(); ++row) {
        RetentionHolder holder;
        holder.group = rows.text(row, 0);
        holder.topic = rows.text(row, 1);
        holder.partition = rows.integer(row, 2);
        if (!rows.is_null(row, 3)) holder.watermark = std::string(rows.text(row, 3));
        if (!rows.is_null(row, 4)) {
            holder.replay = rows.integer(row, 4);
            holder.started_by = rows.text(row, 5);
            holder.started_at = rows.text(row, 6);
        }
        holders.push_back(std::move(holder));
    }
    return holders;
}

std::string_view to_text(Rotation rotation) {
    constexpr std::array<std::string_view, 4> names{"keep", "by_age", "by_size", "by_memory"};
    return names.at(static_cast<std::size_t>(rotation));
}

std::int64_t estimated_claims(std::int64_t bytes, StoreKind store) {
    constexpr std::int64_t log_bytes = 17;
    if (store == StoreKind::log) return bytes / log_bytes;
    constexpr std::int64_t page_bytes = 8192;
    constexpr std::int64_t page_header_bytes = 24;
    constexpr std::int64_t row_bytes = 64 + 4;
    return bytes / page_bytes * ((page_bytes - page_header_bytes) / row_bytes);
}

Rotation rotation_due(const CurrentGeneration& current, const LedgerOptions& options) {
    if (current.claims == 0) return Rotation::keep;
    if (current.claims >= rotation_claims(options)) return Rotation::by_size;
    if (current.claims >= most_claims_in(current, options)) return Rotation::by_memory;
    if (current.age >= options.rotate_after) return Rotation::by_age;
    return Rotation::keep;
}

std::chrono::milliseconds full_in(const CurrentGeneration& current, const LedgerOptions& options) {
    constexpr std::chrono::milliseconds day = std::chrono::hours(24);
    if (current.claims == 0) return day;
    const std::int64_t left = most_claims_in(current, options) - current.claims;
    if (left <= 0) return std::chrono::milliseconds(0);
    const double age = std::max(1.0, static_cast<double>(current.age.count()));
    const double expected = age * static_cast<double>(left) / static_cast<double>(current.claims);
    return std::chrono::milliseconds(
        static_cast<std::int64_t>(std::min(expected, static_cast<double>(day.count()))));
}

bool within(const DailyHours& hours, std::chrono::minutes of_day) {
    const bool begun = of_day >= hours.begin;
    const bool open = of_day < hours.end;
    return hours.begin < hours.end ? begun && open : begun || open;
}

}  // namespace onceward
