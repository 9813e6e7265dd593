// What requests to routes have left. Their ledgers have no places: a claim is known by its
// transaction and its digest alone.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/faults/checker/load_postgres.h"
#include "tests/faults/checker/pg_session.h"

namespace onceward::checker {
namespace {

constexpr int connect_limit = 10;
constexpr std::size_t letters_of_digest = 32;

class RequestLoader {
  public:
    RequestLoader(const DatabaseSource& source, Evidence& evidence)
        : source_(source),
          evidence_(evidence),
          session_(source.dsn, connect_limit),
          schema_(session_.identifier(source.schema) + ".") {}

    void load(const std::string& table) {
        session_.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
        const Rows effects = session_.query("SELECT number, key, body, xmin FROM " + table);
        for (int row = 0; row < effects.size(); ++row) {
            evidence_.request_effects.push_back({.number = effects.number(row, 0),
                                                 .key = effects.text(row, 1),
                                                 .body = effects.text(row, 2),
                                                 .transaction = transaction(effects, row, 3)});
        }
        const Rows listed = session_.query(
            "SELECT ledger, generation || coalesce('m' || nullif(merge, 0), ''),"
            " CASE WHEN segment IS NULL THEN store ELSE 'segment' END"
            " FROM " +
                schema_ + "generations JOIN " + schema_ + "ledgers USING (ledger) LEFT JOIN " +
                schema_ +
                "segments USING (ledger, generation)"
                " WHERE store <> 'lease' AND ledger IN (SELECT ledger FROM " +
                schema_ + "ledger_feeds WHERE consumer_group = $1 AND longest_request IS NOT NULL)",
            {source_.consumer_group});
        for (int row = 0; row < listed.size(); ++row) {
            ledger_ = static_cast<int>(listed.number(row, 0));
            const std::string name = listed.text(row, 0) + "_" + listed.text(row, 1);
            read_claims(name, listed.text(row, 2));
            read_answers(name);
        }
        session_.run("COMMIT");
    }

  private:
    static Transaction transaction(const Rows& rows, int row, int column) {
        return static_cast<Transaction>(rows.number(row, column));
    }

    // A table has a row for each, a log one for each transaction, with its digests in a line; a
    // segment has them sorted, each with the number of its transaction's row.
    void read_claims(const std::string& name, const std::string& store) {
        std::string sql = "SELECT xmin, replace(digest::text, '-', '') FROM " + schema_ + "claims_";
        if (store == "log") {
            sql = "SELECT xmin, encode(digests, 'hex') FROM " + schema_ + "claims_";
        } else if (store == "segment") {
            sql =
                "SELECT b.transaction, encode(substr(s.digests, 16 * n + 1, 16), 'hex') FROM " +
                schema_ + "sealed_" + name +
                " AS s CROSS JOIN generate_series(0, length(s.digests) / 16 - 1) AS n LEFT JOIN (" +
                "SELECT transaction, seq - min(seq) OVER () AS place FROM " + schema_ + "batches_" +
                name +
                ") AS b ON b.place ="
                " ('x' || encode(substr(s.batches, 4 * n + 1, 4), 'hex'))::bit(32)::bigint";
        }
        const Rows rows = session_.query(store == "segment" ? sql : sql + name);
        for (int row = 0; row < rows.size(); ++row) {
            const std::string digests = rows.text(row, 1);
            for (std::size_t at = 0; at < digests.size(); at += letters_of_digest) {
                evidence_.request_claims.push_back({.ledger = ledger_,
                                                    .digest = digests.substr(at, letters_of_digest),
                                                    .transaction = transaction(rows, row, 0)});
            }
        }
    }

    void read_answers(const std::string& name) {
        const Rows made =
            session_.query("SELECT to_regclass($1) IS NOT NULL", {schema_ + "results_" + name});
        if (made.text(0, 0) != "t") return;
        const Rows rows = session_.query(
            "SELECT xmin, replace(digest::text, '-', ''), convert_from(body, 'UTF8') FROM " +
            schema_ + "results_" + name);
        for (int row = 0; row < rows.size(); ++row) {
            StoredAnswer answer{.ledger = ledger_,
                                .digest = rows.text(row, 1),
                                .transaction = transaction(rows, row, 0)};
            const auto body = nlohmann::json::parse(rows.text(row, 2), nullptr, false);
            if (body.is_object() && body.contains("effect")) {
                answer.effect = body["effect"].get<std::int64_t>();
            }
            evidence_.stored_answers.push_back(std::move(answer));
        }
    }

    const DatabaseSource& source_;
    Evidence& evidence_;
    PgSession session_;
    std::string schema_;
    int ledger_ = 0;
};

}  // namespace

void load_request_effects(const DatabaseSource& source, const std::string& table,
                          Evidence& evidence) {
    evidence.request_effects.clear();
    evidence.request_claims.clear();
    evidence.stored_answers.clear();
    RequestLoader(source, evidence).load(table);
}

}  // namespace onceward::checker
