#include "inbox/cpp/lease.h"

#include "inbox/cpp/statement.h"

namespace onceward::pqxx {
namespace {

std::string interval_of(std::chrono::milliseconds length) {
    return std::to_string(length.count()) + " milliseconds";
}

bool yes(const ::pqxx::result& answer) { return answer.one_field().as<bool>(); }

}  // namespace

Lease lease(::pqxx::transaction_base& transaction, const Inbox& inbox, std::string_view key,
            const LeaseOptions& options) {
    const ::pqxx::row row =
        run(transaction, inbox,
            "SELECT a.outcome, a.digest, a.attempt, a.downstream_key, a.attempts, a.taken_over, "
            "(extract(epoch FROM a.remaining) * 1000000)::bigint, " +
                result_columns("ended_at") +
                " FROM {schema}.lease($1::text, $2::text, $3::text, $4::bytea, $5::uuid, "
                "$6::uuid, $7::text, $8::interval, $9::boolean, $10::timestamptz) AS a",
            {inbox.operation, inbox.tenant, inbox.kind, ::pqxx::binary_cast(key),
             text_of(options.fingerprint), text_of(options.attempt),
             ledger_of(inbox, "inbox_leases"), interval_of(options.hold), options.honours_key,
             text_of(options.minted_at)})
            .one_row();
    return {.outcome = outcome_of(row[0]),
            .digest = uuid_of(row[1]),
            .attempt = uuid_of(row[2]),
            .downstream_key = uuid_of(row[3]),
            .attempts = row[4].as<int>(0),
            .taken_over = row[5].as<bool>(false),
            .remaining = std::chrono::microseconds(row[6].as<std::int64_t>(0)),
            .result = result_of(row, 7)};
}

bool end_lease(::pqxx::transaction_base& transaction, const Inbox& inbox, const Lease& lease,
               const Result& result) {
    return yes(run(transaction, inbox,
                   "SELECT {schema}.end_lease($1::uuid, $2::uuid, $3::integer, $4::jsonb, "
                   "$5::bytea, $6::boolean, $7::text, $8::text)",
                   {lease.digest.text(), lease.attempt.text(), result.status, headers_of(result),
                    ::pqxx::binary_cast(result.body), result.failed, inbox.tenant,
                    ledger_of(inbox, "inbox_leases")}));
}

bool extend_lease(::pqxx::transaction_base& transaction, const Inbox& inbox, const Lease& lease,
                  std::chrono::milliseconds hold) {
    return yes(run(transaction, inbox,
                   "SELECT {schema}.extend_lease($1::uuid, $2::uuid, $3::interval, $4::text)",
                   {lease.digest.text(), lease.attempt.text(), interval_of(hold),
                    ledger_of(inbox, "inbox_leases")}));
}

bool release_lease(::pqxx::transaction_base& transaction, const Inbox& inbox, const Lease& lease) {
    return yes(run(transaction, inbox,
                   "SELECT {schema}.release_lease($1::uuid, $2::uuid, $3::text)",
                   {lease.digest.text(), lease.attempt.text(), ledger_of(inbox, "inbox_leases")}));
}

}  // namespace onceward::pqxx
