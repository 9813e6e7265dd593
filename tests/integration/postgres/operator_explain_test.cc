// `onceward explain`: which ledgers its answer is of, and since when they know.

#include <map>

#include "tests/integration/postgres/operator_scene.h"

namespace onceward::operator_tests {
namespace {

// Ledger `orders` is the group's own. Other groups read a topic of that name into younger ledgers,
// and one that the group fed before was retired.
class ExplainOfLedgers : public Operator {
  protected:
    ExplainOfLedgers() {
        Connection worker(schema_.worker());
        for (const char* other : {"shipping", "archive"}) {
            register_ledger(worker, {.name = other}, other, "orders");
        }
        register_ledger(worker, {.name = "old"}, "billing", "orders");
        database().execute(
            "UPDATE ledger_feeds f SET retired_at = now() FROM ledgers l "
            "WHERE l.ledger = f.ledger AND l.name = 'old'; "
            "UPDATE generations SET created_at = make_date(2025, ledger, 1)");
    }
    Outcome explain(std::vector<std::string> more) {
        more.insert(more.begin(), {"explain", "k-9", "--topic", "orders", "--tenant", "acme"});
        return run(std::move(more));
    }

    const Configured configured_{"localhost:1", "    ledger: {name: orders}\n"};
};

TEST_F(ExplainOfLedgers, OnlyThoseOfTheOwnGroupSaySinceWhenAKeyIsNotApplied) {
    for (const std::vector<std::string>& whose :
         {std::vector<std::string>{"-c", configured_.file()}, {"--group", "billing"}}) {
        const Outcome text = explain(whose);
        EXPECT_EQ(text.exit_code, 3) << text.output;
        EXPECT_THAT(text.output,
                    HasSubstr("not applied in ledger orders, whose claims go back to 2025-01-01"));
        std::vector<std::string> in_json = whose;
        in_json.emplace_back("--json");
        auto told = explain(in_json).json();
        EXPECT_EQ(told["claims_since"].get<std::string>().substr(0, 10), "2025-01-01");
        ASSERT_EQ(told["ledgers"].size(), 1U) << told;
        EXPECT_EQ(told["ledgers"][0]["ledger"], "orders");
        EXPECT_EQ(told["ledgers"][0]["claims_since"], told["claims_since"]);
    }
}

// The other group's operation is configured to be the same, so that its keys have the same digests.
TEST_F(ExplainOfLedgers, AClaimOfAnotherGroupsLedgerIsNotTheOwnGroupsAndIsShown) {
    database().execute(
        "INSERT INTO claims_2_1 (digest, record_offset, partition, source) VALUES ($1, 7, 0, 2)",
        {uuid_of("field:/id", "k-9", "acme")});
    const Outcome elsewhere = explain({"-c", configured_.file()});
    EXPECT_EQ(elsewhere.exit_code, 3) << elsewhere.output;
    EXPECT_THAT(elsewhere.output, HasSubstr("not applied in ledger orders, whose claims go back"));
    EXPECT_THAT(elsewhere.output, HasSubstr("ledger shipping generation 1"));
    EXPECT_EQ(explain({"-c", configured_.file(), "--json"}).json()["applied"], false);
    claim(1, uuid_of("field:/id", "k-9", "acme"), 8);
    const Outcome own = explain({"-c", configured_.file()});
    EXPECT_EQ(own.exit_code, 0) << own.output;
    EXPECT_THAT(own.output, testing::Not(HasSubstr("not applied")));
}

// An operator who reads "not applied" sends the payment once more.
TEST_F(ExplainOfLedgers, WithoutAConfigurationItSaysAsWhichKindsItLookedForTheKey) {
    const std::vector<std::string> alone{"--group", "billing"};
    const char* const guess = "the key was looked for as header:Idempotency-Key, record_key, ";
    EXPECT_THAT(explain(alone).output, HasSubstr(guess));
    EXPECT_EQ(explain({"--group", "billing", "--json"}).json()["guessed_kinds"].size(), 4);
    EXPECT_THAT(run({"forget", "k-9", "--topic", "orders", "--group", "billing",
                     "--tenant", "acme", "--reason", "applied by mistake"})
                    .output,
                HasSubstr(guess));
    EXPECT_THAT(explain({"--group", "billing", "--kind", "field:/id"}).output,
                testing::Not(HasSubstr("looked for")));
    EXPECT_THAT(explain({"-c", configured_.file()}).output, testing::Not(HasSubstr("looked for")));
    claim(1, uuid_of("header:Idempotency-Key", "k-9", "acme"), 8);
    EXPECT_EQ(explain(alone).exit_code, 0) << "it is the preset that most topics have";
    EXPECT_THAT(explain(alone).output, testing::Not(HasSubstr("looked for")));
}

// A log may become a segment between the list of the tables and the search in them.
TEST_F(ExplainOfLedgers, AClaimWhoseTableBecomesAnotherMeanwhileIsFound) {
    claim(1, uuid_of("record_key", "k-9", "acme"), 8);
    rotate(1);
    const std::string ledger = std::to_string(ledger_);
    const std::string table = schema_.name() + ".claims_" + ledger + "_1";
    database().execute(
        "CREATE FUNCTION move_claims() RETURNS void LANGUAGE plpgsql AS $$ BEGIN "
        "ALTER TABLE " +
        table + " RENAME TO claims_" + ledger + "_0; UPDATE " + schema_.name() +
        ".generations SET generation = 0 WHERE generation = 1 AND ledger = " + ledger + "; END $$");
    const Outcome found = beside("LOCK TABLE " + table, "SELECT {schema}.move_claims()",
                                 [&] { return explain({"--group", "billing"}); });
    EXPECT_EQ(found.exit_code, 0) << found.output;
    EXPECT_THAT(found.output, HasSubstr("ledger orders generation 0"));
}

// In batches whose digests are spread evenly, and in one where they are not; small ones fit into
// the part of a batch that is read first.
TEST_F(ExplainOfLedgers, AClaimOfALogIsFoundWhereverItIsInItsBatch) {
    Connection worker(schema_.worker());
    const int log =
        register_ledger(worker, {.name = "log", .store = StoreKind::log}, "billing", "orders")
            .ledger;
    const std::string table = "claims_" + std::to_string(log) + "_1";
    database().execute(
        "CREATE TABLE made AS SELECT batch, number, CASE batch WHEN 2 THEN overlay("
        "gen_random_uuid()::text PLACING 'ffff' FROM 1)::uuid ELSE gen_random_uuid() END AS digest "
        "FROM unnest('{5000, 3000, 3, 1}'::int[]) WITH ORDINALITY AS b (claims, batch), "
        "generate_series(1, claims) AS number; INSERT INTO " +
        table +
        " (source, partitions, first_offsets, last_offsets, digests) SELECT 1, '{0}', "
        "ARRAY[batch], ARRAY[batch], string_agg(uuid_send(digest), '' ORDER BY digest) FROM made "
        "GROUP BY batch ORDER BY batch");
    std::map<std::string, std::string> batches;
    std::vector<Digest> wanted{random_digest()};
    for (const support::Row& row : database().execute(
             "SELECT digest, batch FROM (SELECT *, rank() OVER (PARTITION BY batch ORDER BY digest)"
             " AS first, rank() OVER (PARTITION BY batch ORDER BY digest DESC) AS last FROM made) "
             "AS m WHERE first < 4 OR last < 4 OR number % 50 = 0")) {
        batches[row[0].value()] = row[1].value();
        wanted.push_back(parse_uuid(row[0].value()).value());
    }
    ASSERT_GT(wanted.size(), 170U);
    const QueryResult found =
        worker.query(explain_statement("log"), Parameters{wanted}, {{"table", table}});
    EXPECT_EQ(static_cast<std::size_t>(found.rows()), batches.size());
    for (int row = 0; row < found.rows(); ++row) {
        EXPECT_EQ(found.text(row, 5), batches.at(std::string(found.text(row, 0)))) << row;
    }
}

}  // namespace
}  // namespace onceward::operator_tests
