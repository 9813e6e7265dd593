// Leases, and what the audit has noted of them.

#include "tests/faults/checker/load_postgres.h"
#include "tests/faults/checker/pg_session.h"

namespace onceward::checker {
namespace {

LeaseState state_of(const std::string& name) {
    if (name == "in_flight") return LeaseState::in_flight;
    if (name == "done") return LeaseState::done;
    if (name == "failed") return LeaseState::failed;
    throw std::runtime_error("a lease has the unknown state " + name);
}

void read_moves(PgSession& session, const std::string& schema, Evidence& evidence) {
    const Rows rows = session.query(
        "SELECT sequence, ledger, digest, session, worker, claimed, coalesce(old_owner::text, ''),"
        " new_owner, old_state, new_state, (extract(epoch FROM old_until) * 1000000)::bigint,"
        " (extract(epoch FROM new_until) * 1000000)::bigint,"
        " (extract(epoch FROM at) * 1000000)::bigint, xmin FROM " +
        schema + ".checker_lease_moves ORDER BY sequence");
    for (int row = 0; row < rows.size(); ++row) {
        evidence.lease_moves.push_back(
            {.sequence = rows.number(row, 0),
             .transaction = static_cast<Transaction>(rows.number(row, 13)),
             .ledger = static_cast<int>(rows.number(row, 1)),
             .digest = rows.text(row, 2),
             .session = static_cast<int>(rows.number(row, 3)),
             .worker = rows.text(row, 4),
             .claimed = rows.text(row, 5) == "t",
             .old_owner = rows.text(row, 6),
             .new_owner = rows.text(row, 7),
             .old_state = state_of(rows.text(row, 8)),
             .new_state = state_of(rows.text(row, 9)),
             .old_until_us = rows.number(row, 10),
             .new_until_us = rows.number(row, 11),
             .at_us = rows.number(row, 12)});
    }
}

}  // namespace

void read_leases(PgSession& session, const std::string& schema,
                 const std::unordered_map<std::int64_t, int>& sources, Evidence& evidence) {
    evidence.leases.clear();
    evidence.lease_moves.clear();
    const Rows rows = session.query(
        "SELECT ledger, digest, source, partition, record_offset, state, attempts, xmin FROM " +
        schema + ".leases");
    for (int row = 0; row < rows.size(); ++row) {
        const auto topic = sources.find(rows.number(row, 2));
        if (topic == sources.end() || topic->second < 0) continue;
        evidence.leases.push_back(
            {.ledger = static_cast<int>(rows.number(row, 0)),
             .digest = rows.text(row, 1),
             .place = {topic->second, static_cast<int>(rows.number(row, 3)), rows.number(row, 4)},
             .state = state_of(rows.text(row, 5)),
             .attempts = static_cast<int>(rows.number(row, 6))});
        const Lease& lease = evidence.leases.back();
        if (lease.state != LeaseState::done) continue;
        // The row is written last in the transaction that moves the fence over its message.
        evidence.claims.push_back({.place = lease.place,
                                   .transaction = static_cast<Transaction>(rows.number(row, 7)),
                                   .ledger = lease.ledger,
                                   .digest = lease.digest});
    }
    const Rows audited =
        session.query("SELECT to_regclass($1) IS NOT NULL", {schema + ".checker_lease_moves"});
    if (audited.text(0, 0) == "t") read_moves(session, schema, evidence);
}

}  // namespace onceward::checker
