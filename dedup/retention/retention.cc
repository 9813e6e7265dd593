#include "dedup/retention/retention.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "dedup/base/backoff.h"
#include "dedup/base/logging.h"
#include "dedup/base/mutants.h"
#include "dedup/postgres/transaction.h"
#include "dedup/retention/leadership.h"
#include "dedup/retention/ledger_view.h"
#include "dedup/retention/merging.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::int64_t drops_in_one_look = 16;
constexpr std::chrono::milliseconds soon{500};
// Rows in one statement, and statements in one look: what is left waits for the next one.
constexpr std::int64_t leases_in_one_step = 2000;
constexpr int steps_in_one_look = 20;

// Waits for locks, deadlocks and cancelled statements: another look will do.
bool is_busy(const PostgresError& error) {
    return error.sqlstate() == "55P03" || error.sqlstate() == "40P01" ||
           error.sqlstate() == "57014";
}

// One pass over a ledger, in several short transactions.
struct Pass {
    Connection& connection;
    const LedgerOptions& ledger;
    int number;
    const RetentionOptions& job;
    std::chrono::steady_clock::time_point& next_warning;
    RetentionReport report{.looked = true};

    RetentionReport run() {
        rotate();
        expire();
        seal();
        return report;
    }

    // False if a lock was not available in time.
    template <class Work>
    bool unless_busy(Work work) {
        try {
            work();
            return true;
        } catch (const PostgresError& error) {
            if (error.diagnosis().connection_lost || !is_busy(error)) throw;
            report.busy = true;
        }
        warn_of_lock_holders();
        return false;
    }

    // With a lock_timeout of its own.
    template <class Work>
    bool in_short_transaction(Work work) {
        return unless_busy([&] {
            OwnedTransaction transaction(connection);
            transaction.limit_lock_wait(job.lock_timeout);
            work(transaction);
            transaction.commit();
        });
    }

    void rotate() {
        const QueryResult state = connection.query(sql::retention_state, {number});
        if (state.rows() == 0) return;
        const ClaimCount count = count_claims(connection, number, state.integer(0, 0),
                                              state.integer(0, 2), ledger.store);
        const CurrentGeneration current{
            state.integer(0, 0), std::chrono::milliseconds(state.integer(0, 1)), count.claims};
        const Rotation due = rotation_due(current, ledger);
        report.full_in = full_in(current, ledger);
        if (due == Rotation::keep) return;
        report.rotated = in_short_transaction([&](Transaction& transaction) {
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
            // DANGER: drop in transactions after the one that published, as expire() does.
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
            const bool done = in_short_transaction([&](Transaction& transaction) {
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
            const bool done = in_short_transaction([&](Transaction& transaction) {
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
            in_short_transaction([&](Transaction& transaction) {
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

    // Warns of sessions and prepared transactions, of any role, that hold the ledger's lock: as
    // long as they do, nothing expires.
    void warn_of_lock_holders() {
        const auto now = std::chrono::steady_clock::now();
        if (now < next_warning) return;
        const QueryResult held = connection.query(sql::retention_lock_holders, {ledger.name});
        for (int row = 0; row < held.rows(); ++row) {
            log_warning("ledger.lock_held", {{"ledger", ledger.name},
                                             {"holder", held.text(row, 0)},
                                             {"role", held.text(row, 1)},
                                             {"state", held.text(row, 2)},
                                             {"seconds", held.integer(row, 3)}});
            next_warning = now + std::chrono::minutes(10);
        }
    }

    void warn_of_holders() {
        const auto now = std::chrono::steady_clock::now();
        if (now < next_warning) return;
        next_warning = now + std::chrono::minutes(10);
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

RetentionJob::RetentionJob(RetentionOptions options) : options_(std::move(options)) {
    options_.connection.application_name += " retention";
    use(std::exchange(options_.ledgers, {}));
}

void RetentionJob::use(std::vector<LedgerOptions> ledgers) {
    const MutexLock lock(mutex_);
    ledgers_ = std::move(ledgers);
}

MergeRule RetentionJob::rule_of(const LedgerOptions& ledger) const {
    MergeRule rule = options_.merge;
    rule.longest = ledger.rotate_after;
    return rule;
}

RetentionReport RetentionJob::look(Connection& connection, const LedgerOptions& options) {
    LedgerOptions ledger = options;
    RetentionReport report = pass(connection, ledger);
    if (!report.looked || !merges(ledger)) return report;
    Merger merger(connection, report.ledger, options_.sealing);
    merge(merger, ledger, std::chrono::hours(24), report);
    return report;
}

void RetentionJob::merge(Merger& merger, const LedgerOptions& ledger,
                         std::chrono::milliseconds time, RetentionReport& report) {
    try {
        const MergeReport done = merger.step(rule_of(ledger), time);
        report.merged = done.merged;
        report.merging = done.under_way;
        if (!done.merged) return;
        log_info("ledger.merged", {{"ledger", ledger.name},
                                   {"generation", done.generation},
                                   {"segments", done.segments},
                                   {"claims", done.claims}});
    } catch (const PostgresError& error) {
        if (error.diagnosis().connection_lost || !is_busy(error)) throw;
        report.busy = true;
    }
}

// DANGER: use the store of the ledger's row, not the configuration's. A table that was taken for a
// log's would be dropped once its segment is there; see dedup/retention/conversion.h.
RetentionReport RetentionJob::pass(Connection& connection, LedgerOptions& options) {
    connection.limit_prepared();
    const QueryResult known = connection.query(sql::retention_ledger, {options.name});
    if (known.rows() == 0) return {};
    const int ledger = static_cast<int>(known.integer(0, 0));
    options.store = table_or_log(known.text(0, 1)).value_or(options.store);
    // Released after each pass, so that no process can be the leader and frozen for long.
    const Leadership leadership(connection, std::to_string(ledger));
    if (!leadership.held()) return {};
    RetentionReport report = Pass{connection, options, ledger, options_, next_warning_}.run();
    report.ledger = ledger;
    return report;
}

RetentionCounts RetentionJob::counts() const {
    const MutexLock lock(mutex_);
    return counts_;
}

void RetentionJob::count(const RetentionReport& report) {
    const MutexLock lock(mutex_);
    counts_.busy += report.busy ? 1 : 0;
    counts_.rotated += report.rotated ? 1 : 0;
    counts_.sealed += report.sealed ? 1 : 0;
    counts_.merged += report.merged ? 1 : 0;
    counts_.expired += report.unlisted;
    counts_.leases += report.leases;
}

// False if there is no session; the next look tries again.
bool RetentionJob::connect(ServerSession& session) {
    try {
        session.open();
        return true;
    } catch (const PostgresError& error) {
        log_warning("ledger.retention_failed",
                    {{"sqlstate", error.sqlstate()}, {"error", error.summary()}});
    } catch (const std::runtime_error& error) {
        // Somebody has to change the server or its schema; until then each look says so.
        log_warning("ledger.retention_failed", {{"error", error.what()}});
    }
    return false;
}

bool RetentionJob::look_or_warn(Session& session, const LedgerOptions& options) {
    LedgerOptions ledger = options;
    try {
        RetentionReport report = pass(*session.server, ledger);
        if (report.looked && merges(ledger)) {
            Merger& merger =
                session.mergers
                    .try_emplace(ledger.name, *session.server, report.ledger, options_.sealing)
                    .first->second;
            merge(merger, ledger, options_.merging, report);
        }
        // The next look at a ledger that grows fast comes soon: until a generation is sealed its
        // claims are in memory one by one.
        const bool more = report.rotated || report.sealed || report.merging;
        session.pause = std::min(session.pause, more ? soon : std::max(soon, report.full_in));
        count(report);
        return true;
    } catch (const PostgresError& error) {
        log_warning(
            "ledger.retention_failed",
            {{"ledger", ledger.name}, {"sqlstate", error.sqlstate()}, {"error", error.summary()}});
    } catch (const std::exception& error) {
        // Such as no memory for a segment's filter: the messages continue without retention.
        log_warning("ledger.retention_failed", {{"ledger", ledger.name}, {"error", error.what()}});
    }
    // In any case, nothing of that session may affect the ledgers that follow.
    session.mergers.clear();
    session.server.end();
    const MutexLock lock(mutex_);
    ++counts_.failed_ledgers[ledger.name];
    return false;
}

void RetentionJob::look_at_all(Session& session) {
    session.pause = options_.every;
    const auto begin = std::chrono::steady_clock::now();
    bool failed = false;
    std::vector<LedgerOptions> ledgers;
    {
        const MutexLock lock(mutex_);
        ledgers = ledgers_;
    }
    // A reload may have removed a ledger. Give up the right to merge it, so that a process that
    // still serves it can do that.
    std::erase_if(session.mergers, [&](const auto& merger) {
        return std::ranges::find(ledgers, merger.first, &LedgerOptions::name) == ledgers.end();
    });
    for (const LedgerOptions& ledger : ledgers) {
        // If the server does not answer, each of the other ledgers would wait for its time-out as
        // well.
        if (!connect(session.server)) {
            failed = true;
            break;
        }
        failed = !look_or_warn(session, ledger) || failed;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const MutexLock lock(mutex_);
    ++counts_.runs;
    counts_.failures += failed ? 1 : 0;
    counts_.seconds += took.count();
    if (!failed) counts_.last_success = std::chrono::system_clock::now();
}

void RetentionJob::run(std::stop_token stop) {
    const auto idle = std::max(4 * options_.every, std::chrono::milliseconds(60'000));
    Session session({.connection = options_.connection, .set_up = [idle](Connection& connection) {
                         connection.query(sql::retention_session,
                                          {std::to_string(idle.count()) + "ms"});
                     }});
    // A try waits for a lock for so short a time that many may be needed.
    const Backoff again{.first = std::min(options_.every, std::chrono::milliseconds(200)),
                        .longest = options_.every,
                        .least = 0.75,
                        .most = 1.25};
    int busy_in_a_row = 0;
    while (!stop.stop_requested()) {
        const std::int64_t busy_before = counts().busy;
        look_at_all(session);
        busy_in_a_row = counts().busy == busy_before ? 0 : busy_in_a_row + 1;
        // Processes that were started together do not check together.
        sleep_unless(stop, busy_in_a_row > 0 ? again.after(busy_in_a_row, roll())
                                             : spread(session.pause, 0.75, 1.25, roll()));
    }
}

}  // namespace onceward
