#include "inbox/cpp/claim.h"

#include <pqxx/nontransaction>

#include "inbox/cpp/statement.h"

namespace onceward::pqxx {
namespace {

// Text, or NULL for an empty list.
template <class Value>
std::optional<std::string> list_of(const std::vector<std::optional<Value>>& values) {
    if (values.empty()) return std::nullopt;
    std::vector<std::optional<std::string>> texts;
    for (const auto& value : values) texts.push_back(text_of(value));
    return array_of(texts);
}

std::string claim_columns() {
    return "a.outcome, a.digest, a.attempt, a.mine, " + result_columns("stored_at");
}

Claim claim_of(const ::pqxx::row& row) {
    return {.outcome = outcome_of(row[0]),
            .digest = uuid_of(row[1]),
            .attempt = uuid_of(row[2]),
            .mine = row[3].as<bool>(false),
            .result = result_of(row, 4)};
}

// The statements of a nontransaction commit one by one: the claim without its effect.
void need_transaction(const ::pqxx::transaction_base& transaction) {
    if (dynamic_cast<const ::pqxx::nontransaction*>(&transaction) != nullptr) {
        throw Refused(Refusal::argument, "a claim needs a transaction, not a pqxx::nontransaction");
    }
}

}  // namespace

Claim claim(::pqxx::transaction_base& transaction, const Inbox& inbox, std::string_view key,
            const ClaimOptions& options) {
    need_transaction(transaction);
    return claim_of(run(transaction, inbox,
                        "SELECT " + claim_columns() +
                            " FROM {schema}.claim($1::text, $2::text, $3::text, $4::bytea, "
                            "$5::uuid, $6::uuid, $7::text, $8::timestamptz) AS a",
                        {inbox.operation, inbox.tenant, inbox.kind, ::pqxx::binary_cast(key),
                         text_of(options.fingerprint), text_of(options.attempt),
                         ledger_of(inbox, "inbox"), text_of(options.minted_at)})
                        .one_row());
}

void finish(::pqxx::transaction_base& transaction, const Inbox& inbox, const Claim& claim,
            const Result& result) {
    need_transaction(transaction);
    run(transaction, inbox,
        "SELECT {schema}.finish($1::uuid, $2::uuid, $3::integer, $4::jsonb, $5::bytea, "
        "$6::boolean, $7::text, $8::text)",
        {claim.digest.text(), claim.attempt.text(), result.status, headers_of(result),
         ::pqxx::binary_cast(result.body), result.failed, inbox.tenant, ledger_of(inbox, "inbox")});
}

std::vector<Claim> claim_many(::pqxx::transaction_base& transaction, const Inbox& inbox,
                              std::span<const std::string> keys, const ManyOptions& options) {
    need_transaction(transaction);
    const ::pqxx::result answers =
        run(transaction, inbox,
            "SELECT " + claim_columns() +
                " FROM (SELECT m.place, (m.answer).* FROM {schema}.claim_many($1::text, $2::text, "
                "$3::text, $4::bytea[], $5::uuid[], $6::uuid, $7::text, $8::timestamptz[], "
                "$9::bigint) AS m) AS a ORDER BY a.place",
            {inbox.operation, inbox.tenant, inbox.kind, array_of(transaction, keys),
             list_of(options.fingerprints), text_of(options.attempt), ledger_of(inbox, "inbox"),
             list_of(options.minted_at), options.max_bytes});
    std::vector<Claim> claims;
    for (const ::pqxx::row& row : answers) claims.push_back(claim_of(row));
    return claims;
}

void finish_many(::pqxx::transaction_base& transaction, const Inbox& inbox,
                 std::span<const Claim> claims, int status) {
    need_transaction(transaction);
    std::vector<std::optional<std::string>> digests;
    std::optional<Uuid> attempt;
    for (const Claim& claim : claims) {
        if (claim.outcome != Outcome::fresh) continue;
        if (attempt && *attempt != claim.attempt) {
            throw Refused(Refusal::argument, "the claims are of more than one attempt");
        }
        attempt = claim.attempt;
        digests.emplace_back(claim.digest.text());
    }
    if (digests.empty()) return;
    run(transaction, inbox,
        "SELECT {schema}.finish_many($1::uuid[], $2::uuid, $3::integer, $4::text, $5::text)",
        {array_of(digests), attempt->text(), status, inbox.tenant, ledger_of(inbox, "inbox")});
}

}  // namespace onceward::pqxx
