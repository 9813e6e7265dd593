#include "dedup/retention/retention.h"

#include <algorithm>
#include <utility>

#include "dedup/base/backoff.h"
#include "dedup/base/logging.h"
#include "dedup/postgres/stop_cancel.h"
#include "dedup/retention/leadership.h"
#include "dedup/retention/ledger_pass.h"
#include "dedup/retention/merging.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::chrono::milliseconds soon{500};
// A statement that copies a large segment takes its time. The workers' limit would cancel it, and
// the next pass would begin it again. Nobody waits for it: locks have limits of their own, and a
// stop cancels it.
constexpr auto longest_statement = std::chrono::hours(1);

}  // namespace

RetentionJob::RetentionJob(RetentionOptions options) : options_(std::move(options)) {
    options_.connection.application_name += " retention";
    options_.connection.statement_timeout = longest_statement;
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
        if (error.diagnosis().connection_lost || !lock_was_busy(error)) throw;
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
    RetentionReport report = pass_over(connection, options, ledger, options_,
                                       memories_[options.name], next_warning_);
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
bool RetentionJob::connect(Session& session) {
    try {
        session.server.open();
        return true;
    } catch (const PostgresError& error) {
        if (session.stop.stop_requested()) return false;
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
        if (session.stop.stop_requested()) return false;
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
    // For the pass alone: nothing needs to be cancelled between two passes, and a server that does
    // not answer would delay the stop.
    StopCancel cancel(session.stop);
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
        if (session.stop.stop_requested()) return;
        // If the server does not answer, each of the other ledgers would wait for its time-out as
        // well.
        if (!connect(session)) {
            failed = true;
            break;
        }
        cancel.use(*session.server);
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
    const auto set_up = [idle](Connection& connection) {
        connection.query(sql::retention_session, {std::to_string(idle.count()) + "ms"});
    };
    Session session({.connection = options_.connection, .set_up = set_up}, stop);
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
