#include "dedup/retention/ledger_pass.h"

#include <algorithm>
#include <vector>

#include "dedup/base/backoff.h"
#include "dedup/base/logging.h"
#include "dedup/base/mutants.h"
#include "dedup/claims/log/log_window.h"
#include "dedup/postgres/transaction.h"
#include "dedup/retention/ledger_view.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::int64_t drops_in_one_look = 16;
// Rows in one statement, and statements in one look: what is left waits for the next one.
constexpr std::int64_t leases_in_one_step = 2000;
constexpr int steps_in_one_look = 20;

// Who holds the ledger's lock for longer than this will not release it while a pass waits.
constexpr std::int64_t long_hold_seconds = 10;
constexpr auto warn_every = std::chrono::minutes(10);

// One pass over a ledger, in several short transactions.
struct Pass {
    Connection& connection;
    const LedgerOptions& ledger;
    int number;
    const RetentionOptions& job;
    PassMemory& memory;
    std::chrono::steady_clock::time_point& next_warning;
    RetentionReport report{.looked = true};
    bool ledger_lock_was_busy = false;
    bool held_for_long = false;  // the ledger's lock, by somebody

    RetentionReport run() {
        report.lock_wait = patience().whole(memory.busy_in_a_row + 1);
        rotate();
        expire();
        remember_whether_busy();
        seal();
        return report;
    }

    // How long this pass waits for the ledger's lock, and the next ones while it stays busy.
    Backoff patience() const {
        return {.first = job.lock_timeout,
                .longest = std::max(job.lock_timeout, job.longest_lock_wait)};
    }

    // False if a lock was not available in time.
    template <class Work>
    bool unless_busy(Work work) {
        try {
            work();
            return true;
        } catch (const PostgresError& error) {
            if (error.diagnosis().connection_lost || !lock_was_busy(error)) throw;
            report.busy = true;
        }
        ask_for_lock_holders();
        return false;
    }

    template <class Work>
    bool in_short_transaction(std::chrono::milliseconds lock_wait, Work work) {
        return unless_busy([&] {
            OwnedTransaction transaction(connection);
            transaction.limit_lock_wait(lock_wait);
            work(transaction);
            transaction.commit();
        });
    }

    // For work that takes the ledger's lock. Claims queue while a pass waits for it, so a pass that
    // did not get it once does not try again.
    template <class Work>
    bool under_ledger_lock(Work work) {
        if (ledger_lock_was_busy) return false;
        const bool done = in_short_transaction(report.lock_wait, work);
        ledger_lock_was_busy = !done;
        return done;
    }

    // Claims may hold the lock at all times, one after the other. So a short wait could fail for
    // ever, and each pass waits twice as long as the one before it. It does not if somebody keeps
    // the lock for long: then claims would queue for nothing.
    void remember_whether_busy() {
        if (!ledger_lock_was_busy || held_for_long) {
            memory.busy_in_a_row = 0;
            return;
        }
        ++memory.busy_in_a_row;
        const auto now = std::chrono::steady_clock::now();
        if (report.lock_wait < patience().longest || now < memory.next_busy_warning) return;
        memory.next_busy_warning = now + warn_every;
        log_warning("ledger.lock_busy", {{"ledger", ledger.name},
                                         {"passes", memory.busy_in_a_row},
                                         {"waited_ms", report.lock_wait.count()}});
    }

    void rotate() {
        const QueryResult state = connection.query(sql::retention_state, {number});
        if (state.rows() == 0) return;
        const ClaimCount count = count_claims(connection, number, state.integer(0, 0),
                                              state.integer(0, 2), ledger.store);
        const CurrentGeneration current{
            state.integer(0, 0), std::chrono::milliseconds(state.integer(0, 1)), count.claims,
            job.windows ? job.windows->fullness(number, state.integer(0, 0)) : 0};
        const Rotation due = rotation_due(current, ledger);
        report.full_in = full_in(current, ledger);
        if (due == Rotation::keep) return;
        report.rotated = under_ledger_lock([&](Transaction& transaction) {
            transaction.query(sql::retention_rotate, {number, current.generation});
        });
        if (report.rotated) {
            log_info("ledger.rotated",
                     {{"ledger", ledger.name},
                      {"sealed", current.generation},
                      {"because", to_text(due)},
                      {count.counted ? "claims" : "claims_estimated", count.claims}});
        }
    }

    // Called last, because it takes long.
    void seal() {
        if (ledger.store != StoreKind::log) return;
        unless_busy([&] {
            const SealingReport done = seal_oldest(connection, number, job.sealing);
            report.sealed = done.sealed;
            // DANGER: drop in transactions after the one that published, as expire() does. Outside
            // of purge_hours too: a segment is merged only if its log is gone.
            drop_sealed_logs(connection, number, job.sealing);
            if (!done.sealed) return;
            log_info("ledger.sealed", {{"ledger", ledger.name},
                                       {"generation", done.generation},
                                       {"claims", done.claims}});
        });
    }

    void expire() {
        if (mutant("purge_by_wall_clock")) pass_all_watermarks(connection);
        const QueryResult state = connection.query(sql::retention_state, {number});
        const bool known = state.rows() == 1;
        const bool expired = known && state.integer(0, 3) > 0;
        const bool leases_expired = known && state.integer(0, 6) > 0;
        const bool may_purge =
            !ledger.purge_hours ||
            (known && within(*ledger.purge_hours, std::chrono::minutes(state.integer(0, 5))));
        report.waits_for_hours = (expired || leases_expired) && !may_purge;
        // DANGER: read before this pass unlists anything: only what an earlier one unlisted is
        // dropped. A claim that waited for the lock may still name the generation in its text.
        std::vector<std::int64_t> unlisted_before;
        if (may_purge) unlisted_before = unlisted_generations();
        // Ask for the lock only if something has expired: everybody queues while somebody waits for
        // it.
        if (expired && may_purge) {
            const bool done = under_ledger_lock([&](Transaction& transaction) {
                report.unlisted = transaction.query(sql::retention_unlist, {number}).rows();
            });
            if (!done) report.unlisted = 0;
        }
        const auto overdue = std::max(ledger.rotate_after, std::chrono::milliseconds(3'600'000));
        report.held_back =
            known && !expired && !leases_expired && state.integer(0, 4) > overdue.count();
        if (report.held_back) warn_of_holders();
        // DANGER: the tables go in transactions after the one that unlisted them. A transaction
        // that has read one of them and waits for the ledger's lock would deadlock with a DROP
        // under that lock.
        if (may_purge) {
            drop(unlisted_before);
            delete_leases();
        }
        if (report.unlisted > 0 || report.dropped > 0) {
            log_info("ledger.expired", {{"ledger", ledger.name},
                                        {"generations", report.unlisted},
                                        {"tables_dropped", report.dropped}});
        }
    }

    std::vector<std::int64_t> unlisted_generations() {
        const QueryResult found =
            connection.query(sql::retention_orphans, {number, drops_in_one_look});
        std::vector<std::int64_t> generations;
        for (int row = 0; row < found.rows(); ++row) generations.push_back(found.integer(row, 0));
        return generations;
    }

    void drop(const std::vector<std::int64_t>& generations) {
        for (const std::int64_t generation : generations) {
            bool dropped = false;
            const bool done = in_short_transaction(job.lock_timeout, [&](Transaction& transaction) {
                dropped =
                    transaction.query(sql::retention_drop, {number, generation}).boolean(0, 0);
            });
            report.dropped += done && dropped ? 1 : 0;
        }
    }

    // Rows that are updated in place are in no generation that could be dropped.
    void delete_leases() {
        if (ledger.store != StoreKind::lease) return;
        for (int step = 0; step < steps_in_one_look; ++step) {
            std::int64_t gone = 0;
            under_ledger_lock([&](Transaction& transaction) {
                gone = transaction.query(sql::retention_leases, {number, leases_in_one_step})
                           .integer(0, 0);
            });
            report.leases += gone;
            if (gone < leases_in_one_step) break;
        }
        if (report.leases > 0) {
            log_info("ledger.expired", {{"ledger", ledger.name}, {"leases", report.leases}});
        }
    }

    // Sessions and prepared transactions, of any role, that hold the ledger's lock: as long as they
    // do, nothing expires.
    void ask_for_lock_holders() {
        const QueryResult held = connection.query(sql::retention_lock_holders, {ledger.name});
        const auto now = std::chrono::steady_clock::now();
        const bool may_warn = now >= next_warning;
        for (int row = 0; row < held.rows(); ++row) {
            held_for_long = held_for_long || held.integer(row, 3) >= long_hold_seconds;
            if (!may_warn) continue;
            log_warning("ledger.lock_held", {{"ledger", ledger.name},
                                             {"holder", held.text(row, 0)},
                                             {"role", held.text(row, 1)},
                                             {"state", held.text(row, 2)},
                                             {"seconds", held.integer(row, 3)}});
            next_warning = now + warn_every;
        }
    }

    void warn_of_holders() {
        const auto now = std::chrono::steady_clock::now();
        if (now < next_warning) return;
        next_warning = now + warn_every;
        for (const RetentionHolder& holder : retention_holders(connection, number, 5)) {
            log_warning("ledger.held_back", {{"ledger", ledger.name},
                                             {"group", holder.name()},
                                             {"topic", holder.topic},
                                             {"partition", holder.partition},
                                             {"watermark", holder.watermark.value_or("none")}});
        }
    }
};

}  // namespace

bool lock_was_busy(const PostgresError& error) {
    return error.sqlstate() == sqlstate::lock_not_available ||
           error.sqlstate() == sqlstate::deadlock_detected;
}

RetentionReport pass_over(Connection& connection, const LedgerOptions& ledger, int number,
                          const RetentionOptions& job, PassMemory& memory,
                          std::chrono::steady_clock::time_point& next_warning) {
    return Pass{connection, ledger, number, job, memory, next_warning}.run();
}

}  // namespace onceward
