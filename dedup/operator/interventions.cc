#include "dedup/operator/interventions.h"

#include "dedup/base/expects.h"
#include "dedup/postgres/transaction.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr int most_searches = 5;

// Runs one statement in a transaction with that lock_timeout; returns nullopt if it did not get its
// locks.
std::optional<QueryResult> in_one_try(Connection& connection, std::string_view statement,
                                      const Parameters& parameters,
                                      std::chrono::milliseconds lock_timeout) {
    try {
        OwnedTransaction transaction(connection);
        transaction.limit_lock_wait(lock_timeout);
        std::optional<QueryResult> result = transaction.query(statement, parameters);
        transaction.commit();
        return result;
    } catch (const PostgresError& error) {
        // A lock, a deadlock, or a table that retention has just dropped.
        const std::string& code = error.sqlstate();
        const bool locked =
            code == sqlstate::lock_not_available || code == sqlstate::deadlock_detected;
        if (!locked && !table_is_gone(error)) throw;
        return std::nullopt;
    }
}

}  // namespace

std::optional<int> evict(Connection& connection, int ledger, std::span<const Digest> digests,
                         const std::string& reason, std::chrono::milliseconds lock_timeout) {
    const std::optional<QueryResult> evicted =
        in_one_try(connection, sql::evict_claims, {ledger, digests, reason}, lock_timeout);
    if (!evicted) return std::nullopt;
    return evicted->rows();
}

std::optional<std::int64_t> erase_results(Connection& connection, int ledger,
                                          std::string_view tenant, const std::string& reason,
                                          std::chrono::milliseconds lock_timeout) {
    expects(!tenant.empty(), "results are erased of a tenant");
    const std::optional<QueryResult> erased =
        in_one_try(connection, sql::results_erase, Parameters{ledger}.bytes(tenant).text(reason),
                   lock_timeout);
    if (!erased) return std::nullopt;
    return erased->is_null(0, 0) ? 0 : erased->integer(0, 0);
}

std::string_view explain_statement(std::string_view kept) {
    if (kept == "log") return sql::explain_log_claim;
    if (kept == "parts") return sql::explain_parts_claim;
    if (kept == "segment") return sql::explain_segment_claim;
    return sql::explain_claim;
}

void search_claims(Connection& connection, std::string_view ledger, std::span<const Digest> digests,
                   const std::function<void()>& begin, const FoundClaims& found) {
    for (int tries = 1;; ++tries) {
        begin();
        try {
            const QueryResult generations = connection.query(sql::explain_generations, {});
            for (int row = 0; row < generations.rows(); ++row) {
                if (!ledger.empty() && generations.text(row, 0) != ledger) continue;
                found(generations, row,
                      connection.query(explain_statement(generations.text(row, 5)),
                                       Parameters{digests},
                                       {{"table", std::string(generations.text(row, 4))}}));
            }
            return;
        } catch (const PostgresError& error) {
            // DANGER: the claims of the table may be in one that was not listed yet. Without them a
            // key that was applied would be called new.
            if (!table_is_gone(error) || tries == most_searches) throw;
        }
    }
}

std::optional<Offset> note_suspect(Connection& connection, const std::string& consumer_group,
                                   const TopicPartition& partition, const MemoryUse& use,
                                   std::optional<Offset> record) {
    const QueryResult row = connection.query(
        sql::suspects_write,
        {consumer_group, partition.topic, partition.partition, use.resident, use.budget, record});
    if (row.rows() == 0) return std::nullopt;
    return Offset{row.integer(0, 0)};
}

std::vector<TopicPause> open_pauses(Connection& connection, const std::string& consumer_group) {
    const QueryResult rows = connection.prepared(sql::pauses_open, {consumer_group});
    std::vector<TopicPause> pauses;
    for (int row = 0; row < rows.rows(); ++row) {
        pauses.push_back({std::string(rows.text(row, 0)), std::string(rows.text(row, 1)),
                          std::string(rows.text(row, 2)), std::string(rows.text(row, 3))});
    }
    return pauses;
}

std::string describe(const TopicPause& pause) {
    const std::string who = "paused by " + pause.paused_by + " at " + pause.paused_at;
    return pause.reason.empty() ? who : who + ": " + pause.reason;
}

}  // namespace onceward
