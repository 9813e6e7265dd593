#include <algorithm>

#include "cli/composition/composition.h"
#include "cli/configuration/databases.h"
#include "cli/doctor/judgements.h"
#include "cli/doctor/probes.h"
#include "cli/terminal/quantities.h"
#include "dedup/base/types.h"
#include "dedup/retention/ledger_view.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// SQLSTATEs of a missing schema: only one probe reports it.
bool lacks_schema(const PostgresError& error) {
    return table_is_gone(error) || error.sqlstate() == "3F000" || error.sqlstate() == "42883";
}

template <class Ask>
std::vector<ProbeRow> if_schema_is_there(const Ask& ask) {
    try {
        return ask();
    } catch (const PostgresError& error) {
        if (!lacks_schema(error)) throw;
        return {{ProbeVerdict::note, "not probed: Onceward's tables are not there", ""}};
    }
}

using Question = std::vector<ProbeRow> (*)(Connection&, const Configuration&);

Probe probe_of(const Configuration& configuration, const std::string& name, Question question) {
    return {database_text(configuration.database), name, [configuration, question] {
                return if_schema_is_there([&] {
                    Connection connection(configuration.postgres);
                    return question(connection, configuration);
                });
            }};
}

// With the probe's limits, so that the server ends what nobody waits for any more, and with a name
// by which doctor_settings tells these sessions from others.
Configuration hurried_copy(const Configuration& configuration, milliseconds limit) {
    Configuration hurried = configuration;
    hurried.postgres.application_name = "onceward doctor";
    hurried.postgres.connect_timeout = std::max(seconds(1), std::chrono::floor<seconds>(limit));
    hurried.postgres.statement_timeout = limit;
    hurried.postgres.lock_timeout = limit / 2;
    return hurried;
}

std::vector<ProbeRow> reach(Connection& connection, const Configuration&) {
    const auto begin = since_1970<microseconds>();
    const QueryResult clock = connection.query(sql::database_clock, {});
    const auto end = since_1970<microseconds>();
    const microseconds round_trip = end - begin;
    const microseconds ahead = microseconds(clock.integer(0, 0)) - (begin + round_trip / 2);
    return {{ProbeVerdict::ok,
             "PostgreSQL " + std::to_string(connection.server_version() / 10000) + "." +
                 std::to_string(connection.server_version() % 10000) + ", " +
                 connection.database_name() + ", a round trip takes " +
                 std::to_string(round_trip.count()) + " us",
             ""},
            judge_clock(ahead, round_trip)};
}

// The sessions of a process, as docs/operations/deployment.md counts them.
std::int64_t sessions_of(const Configuration& configuration) {
    std::int64_t sessions = configuration.topics.empty() ? 0 : configuration.workers + 3;
    sessions += make_relay_options(configuration) ? 1 : 0;
    return sessions + static_cast<std::int64_t>(configuration.route_sinks.size());
}

std::vector<ProbeRow> settings(Connection& connection, const Configuration& configuration) {
    const QueryResult found = connection.query(sql::doctor_settings, {});
    std::vector<ProbeRow> rows;
    rows.push_back(judge_connections(found.integer(0, 1), found.integer(0, 2), found.integer(0, 3),
                                     sessions_of(configuration)));
    const auto expect = [&](int column, const std::string& name, const std::string& wanted,
                            ProbeVerdict otherwise, const std::string& next) {
        const std::string value(found.text(0, column));
        const bool good = value == wanted;
        rows.push_back(
            {good ? ProbeVerdict::ok : otherwise, name + " = " + value, good ? "" : next});
    };
    expect(5, "autovacuum", "on", ProbeVerdict::warning,
           "Set it to on: fences and leases are updated for ever, and need VACUUM.");
    expect(6, "track_counts", "on", ProbeVerdict::warning,
           "Set it to on: autovacuum depends on it.");
    expect(7, "transaction_timeout", "0", ProbeVerdict::warning,
           "Set it to 0 for the role: it ends a long batch, which is then tried in parts.");
    const std::string standbys(found.text(0, 9));
    rows.push_back({ProbeVerdict::note,
                    "wal_level = " + std::string(found.text(0, 4)) +
                        ", synchronous_commit = " + std::string(found.text(0, 8)) +
                        ", synchronous standbys: " + (standbys.empty() ? "none" : standbys),
                    ""});
    const std::int64_t limit = found.integer(0, 10);
    if (limit >= 0 && limit < sessions_of(configuration)) {
        rows.push_back({ProbeVerdict::warning,
                        "the role may have " + std::to_string(limit) + " connections",
                        "Raise the role's CONNECTION LIMIT: the process needs " +
                            std::to_string(sessions_of(configuration)) + "."});
    }
    return rows;
}

std::vector<ProbeRow> ledgers(Connection& connection, const Configuration& configuration) {
    std::vector<LedgerView> views = view_ledgers(connection, std::nullopt, configuration.group);
    count_open_transactions(connection, views);
    std::vector<ProbeRow> rows;
    for (const LedgerView& view : views) {
        std::string held_by;
        for (const RetentionHolder& holder : retention_holders(connection, view.ledger, 1)) {
            held_by = holder.name();
        }
        rows.push_back(judge_ledger(view.name, view.claims, view.bytes, view.retention,
                                    view.held_back, held_by));
        if (!view.oldest_transaction || *view.oldest_transaction < seconds(60)) continue;
        rows.push_back(
            judge_transaction("it holds ledger " + view.name, *view.oldest_transaction, false));
    }
    if (rows.empty()) rows.push_back({ProbeVerdict::note, "the group feeds no ledger yet", ""});
    return rows;
}

std::vector<ProbeRow> transactions(Connection& connection, const Configuration&) {
    const QueryResult found = connection.query(sql::doctor_transactions, {});
    std::vector<ProbeRow> rows;
    if (found.is_null(0, 0)) {
        rows.push_back({ProbeVerdict::ok, "no transaction is open", ""});
    } else {
        rows.push_back(judge_transaction(std::string(found.text(0, 0)),
                                         seconds(found.integer(0, 1)), found.boolean(0, 2)));
    }
    if (const std::int64_t hidden = found.integer(0, 3); hidden > 0) {
        rows.push_back({ProbeVerdict::note,
                        std::to_string(hidden) + " sessions of other roles cannot be seen",
                        "If they matter, make the role a member of pg_read_all_stats."});
    }
    return rows;
}

std::vector<ProbeRow> dead_letters(Connection& connection, const Configuration& configuration) {
    const QueryResult found = connection.query(sql::open_dead_letters, {configuration.group});
    std::vector<ProbeRow> rows;
    for (int row = 0; row < found.rows(); ++row) {
        rows.push_back({ProbeVerdict::warning,
                        std::string(found.text(row, 2)) + " open dead letters of topic " +
                            std::string(found.text(row, 0)) + ", class " +
                            std::string(found.text(row, 1)) + ", the oldest " +
                            age_text(seconds(found.integer(row, 3))) + " old",
                        "`onceward dlq list` shows them; `redrive` or `discard` them."});
    }
    if (rows.empty()) rows.push_back({ProbeVerdict::ok, "no dead letter is open", ""});
    return rows;
}

std::vector<ProbeRow> stops(Connection& connection, const Configuration& configuration) {
    std::vector<ProbeRow> rows;
    const QueryResult paused = connection.query(sql::pauses_open, {configuration.group});
    for (int row = 0; row < paused.rows(); ++row) {
        rows.push_back({ProbeVerdict::warning,
                        "topic " + std::string(paused.text(row, 0)) + " is paused since " +
                            std::string(paused.text(row, 3)) + ": " +
                            std::string(paused.text(row, 1)),
                        "`onceward resume` continues it."});
    }
    const QueryResult suspects = connection.query(sql::doctor_suspects, {configuration.group});
    for (int row = 0; row < suspects.rows(); ++row) {
        rows.push_back({ProbeVerdict::warning,
                        "a worker ran out of memory at " + std::string(suspects.text(row, 0)) +
                            ", partition " + std::string(suspects.text(row, 1)),
                        "See `onceward offsets --help`: `offsets retry` and `offsets skip`."});
    }
    if (rows.empty()) rows.push_back({ProbeVerdict::ok, "no topic is paused or suspected", ""});
    return rows;
}

std::vector<ProbeRow> outbox(Connection& connection, const Configuration& configuration) {
    const QueryResult found = connection.query(sql::outbox_totals, {configuration.group});
    const std::int64_t waiting = found.rows() == 0 ? 0 : found.integer(0, 0);
    const seconds age(waiting == 0 ? 0 : found.integer(0, 1));
    const std::string text =
        waiting == 0 ? "nothing waits to be sent"
                     : std::to_string(waiting) + " records wait, the oldest for " + age_text(age);
    if (age < std::chrono::minutes(1)) return {{ProbeVerdict::ok, text, ""}};
    return {{ProbeVerdict::warning, text, "`onceward outbox` shows who sends, and what is held."}};
}

std::vector<ProbeRow> disk(Connection& connection, const Configuration&) {
    constexpr std::int64_t much_wal = std::int64_t{1} << 30;
    const QueryResult found = connection.query(sql::doctor_disk, {});
    const auto bytes = [&](int column) {
        return bytes_text(static_cast<double>(found.integer(0, column)));
    };
    std::vector<ProbeRow> rows{{ProbeVerdict::ok,
                                "the database has " + bytes(0) + ", Onceward's schema " + bytes(1) +
                                    " of it; PostgreSQL does not show what is free",
                                ""}};
    if (found.integer(0, 2) >= much_wal) {
        rows.push_back({ProbeVerdict::warning,
                        "replication slot " + std::string(found.text(0, 3)) +
                            " has no reader and keeps " + bytes(2) + " of WAL",
                        "Start its reader, or drop it: the disk would fill."});
    }
    return rows;
}

}  // namespace

Probe database_probe(const Configuration& configuration, milliseconds limit) {
    return probe_of(hurried_copy(configuration, limit), "server", reach);
}

std::vector<Probe> database_probes(const Configuration& configuration, milliseconds limit) {
    const Configuration hurried = hurried_copy(configuration, limit);
    const std::string area = database_text(configuration.database);
    std::vector<Probe> probes;
    probes.push_back(
        {area, "schema, role and sinks", [hurried] { return rows_of(check_database(hurried)); }});
    probes.push_back(probe_of(hurried, "settings", settings));
    if (!configuration.topics.empty()) {
        probes.push_back({area, "fences", [hurried] {
                              return if_schema_is_there(
                                  [&] { return rows_of(check_fences(hurried)); });
                          }});
    }
    probes.push_back(probe_of(hurried, "ledgers", ledgers));
    probes.push_back(probe_of(hurried, "transactions", transactions));
    probes.push_back(probe_of(hurried, "dead letters", dead_letters));
    probes.push_back(probe_of(hurried, "pauses", stops));
    if (make_relay_options(configuration)) {
        probes.push_back(probe_of(hurried, "outbox", outbox));
    }
    probes.push_back(probe_of(hurried, "disk", disk));
    return probes;
}

}  // namespace onceward
