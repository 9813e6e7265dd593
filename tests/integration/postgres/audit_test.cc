// The audit log: each act by hand leaves a row in its own transaction, by whatever program it
// was done, and nobody who acts can change one.

#include "dedup/postgres/transaction.h"
#include "dedup/server/migration.h"
#include "schemas/queries.h"
#include "tests/integration/postgres/operator_scene.h"

namespace onceward::operator_tests {
namespace {

using support::DatabaseError;
using testing::ElementsAre;
using testing::Not;

class Audit : public Operator {
  protected:
    // The acts that the log has since the schema was made, with these columns.
    std::vector<std::string> acts(const std::string& columns = "act, target, outcome, reason") {
        std::vector<std::string> lines;
        for (const support::Row& row :
             database().execute("SELECT concat_ws('|', " + columns +
                                ") FROM audit_log WHERE entry > " + std::to_string(before_) +
                                " ORDER BY entry")) {
            lines.push_back(row[0].value_or(""));
        }
        return lines;
    }
    void letter(int number) {
        database().execute(
            "INSERT INTO dead_letters (consumer_group, topic, identity, partition, record_offset, "
            "headers, error_class, reason, attempts) VALUES ('billing', 'orders', 'T', 1, $1, "
            "'[]', 'sink', 'why', 1)",
            {std::to_string(number)});
    }

    std::int64_t before_ =
        database().number("SELECT coalesce(max(entry), 0) FROM audit_log");
};

TEST_F(Audit, EachActOfACommandIsThereWithItsTargetReasonAndOutcome) {
    fence(1, 5);
    letter(1);
    claim(1, uuid_of("record_key", "k"), 7);
    const std::vector<std::vector<std::string>> commands{
        {"pause", "orders", "--group", "billing", "--reason", "index"},
        {"resume", "orders", "--group", "billing", "--reason", "index built"},
        {"offsets", "--group", "billing", "--topic", "orders", "--partition", "1", "--set", "9",
         "--reason", "skip", "--yes"},
        {"offsets", "skip", "--group", "billing", "--topic", "orders", "--partition", "1",
         "--offset", "9", "--to", "11", "--reason", "disk", "--yes"},
        {"offsets", "retry", "--group", "billing", "--topic", "orders", "--partition", "1",
         "--reason", "disk is back"},
        {"dlq", "discard", "--group", "billing", "--topic", "orders", "--reason", "test data",
         "--yes"},
        {"forget", "k", "--group", "billing", "--topic", "orders", "--reason", "again", "--yes"},
        {"groups", "retire", "billing", "--reason", "gone", "--yes"},
        {"groups", "retire", "billing", "--undo", "--yes"},
    };
    for (const auto& command : commands) {
        const Outcome outcome = run_as_owner(command);
        EXPECT_EQ(outcome.exit_code, 0) << command[0] << ": " << outcome.output;
    }
    EXPECT_THAT(acts(),
                ElementsAre("pause|billing/orders|done|index",
                            "resume|billing/orders|done|index built",
                            "offsets move|billing/orders/1|done|skip",
                            "offsets move|billing/orders/1|done|disk",
                            "offsets retry|billing/orders/1|done|disk is back",
                            "dlq discard|billing/orders|done|test data",
                            "forget|ledger orders|done|again",
                            "groups retire|group billing|done|gone",
                            "groups restore|group billing|done|"));
    EXPECT_EQ(database().value("SELECT details ->> 'digest' FROM audit_log WHERE act = 'forget'"),
              uuid_of("record_key", "k"));
    EXPECT_EQ(database().value("SELECT details ->> 'letters' FROM audit_log WHERE act LIKE 'dlq%'"),
              "1");
}

TEST_F(Audit, WhoIsTheUserOfThisMachineWithTheRoleThatTheServerKnows) {
    EXPECT_EQ(run_as_owner({"pause", "orders", "--group", "billing", "--reason", "a test"})
                  .exit_code,
              0);
    const auto lines =
        acts("who, database_role, way, host, coalesce(role, 'no role'), command");
    ASSERT_EQ(lines.size(), 1U);
    const std::string user =
        database().value("SELECT database_role FROM audit_log ORDER BY entry DESC LIMIT 1");
    EXPECT_EQ(user, database().value("SELECT session_user"));
    EXPECT_THAT(lines[0], HasSubstr("|command|"));
    EXPECT_THAT(lines[0], HasSubstr("|no role|pause orders --group billing --reason 'a test' "
                                    "--dsn *** --schema " +
                                    schema_.name()));
    EXPECT_THAT(lines[0], Not(HasSubstr(schema_.server().dsn)));
}

TEST_F(Audit, ADryRunLeavesNothing) {
    fence(1, 5);
    letter(1);
    claim(1, uuid_of("record_key", "k"), 7);
    run_as_owner({"offsets", "--group", "billing", "--topic", "orders", "--partition", "1",
                     "--set", "9"});
    run_as_owner({"dlq", "discard", "--group", "billing", "--topic", "orders", "--reason", "x"});
    run_as_owner({"forget", "k", "--group", "billing", "--topic", "orders", "--reason", "x"});
    run_as_owner({"groups", "retire", "billing"});
    EXPECT_THAT(acts(), ElementsAre());
}

// By the tables' triggers: no program has to think of it.
TEST_F(Audit, AnActByPlainSqlIsThereToo) {
    letter(1);
    database().execute("SELECT discard_dead_letters(array_agg(dead_letter), 'by hand') FROM "
                       "dead_letters");
    EXPECT_THAT(acts("act, target, reason, way, coalesce(who, 'nobody')"),
                ElementsAre("dlq discard|billing/orders|by hand|sql|nobody"));
}

TEST_F(Audit, AnActThatIsRolledBackHasNoRowAndARowNoActWithout) {
    letter(1);
    Connection owner(schema_.owner());
    {
        OwnedTransaction transaction(owner);
        transaction.query(sql::pauses_begin, {"billing", "orders", "why", true});
        transaction.query("SELECT {schema}.discard_dead_letters($1::bigint[], $2)",
                          Parameters{std::vector<std::int64_t>{1}, "why"});
        EXPECT_EQ(transaction.query(sql::audit_list, Parameters{}
                                                         .null()
                                                         .null()
                                                         .null()
                                                         .text("pause")
                                                         .integer(9))
                      .rows(),
                  1);
    }
    EXPECT_THAT(acts(), ElementsAre());
    EXPECT_EQ(database().number("SELECT count(*) FROM topic_pauses"), 0);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 1);
    // And the other way round: without a row there is no act.
    database().execute("ALTER TABLE audit_log ADD CONSTRAINT full_disk CHECK (act <> 'pause')");
    EXPECT_THROW(owner.query(sql::pauses_begin, {"billing", "orders", "why", true}), PostgresError);
    EXPECT_EQ(database().number("SELECT count(*) FROM topic_pauses"), 0);
}

TEST_F(Audit, NoRoleOfAWorkerOrAnOperatorCanChangeARow) {
    const std::string role = support::unique_name("operator");
    database().execute("CREATE ROLE " + role);
    Connection owner(schema_.owner());
    grant_operator(owner, role);
    database().execute("SELECT record_act('a', 'b', 'c', 'done', '{}')");
    for (const std::string& who : {role, std::string(support::worker_role)}) {
        for (const char* statement :
             {"UPDATE audit_log SET reason = 'other'", "DELETE FROM audit_log",
              "TRUNCATE audit_log",
              "INSERT INTO audit_log (way, act, target, reason, outcome, details) VALUES ('sql', "
              "'a', 'b', 'c', 'done', '{}')",
              "ALTER TABLE audit_log DISABLE TRIGGER ALL", "DROP TABLE audit_log"}) {
            try {
                database().execute("SET ROLE " + who + "; " + statement);
                ADD_FAILURE() << who << " may " << statement;
            } catch (const DatabaseError& error) {
                EXPECT_EQ(error.sqlstate(), "42501") << statement;
            }
            database().execute("RESET ROLE");
        }
    }
    database().execute("SET ROLE " + role);
    EXPECT_GT(database().number("SELECT count(*) FROM audit_log"), 0) << "operators read it";
    database().execute("RESET ROLE; DROP OWNED BY " + role + "; DROP ROLE " + role);
}

TEST_F(Audit, GrantsAndMigrationsAreThere) {
    const std::string role = support::unique_name("granted");
    database().execute("CREATE ROLE " + role);
    EXPECT_EQ(run_as_owner({"migrate", "up", "--grant-to", role, "--grant-operator-to", role,
                            "--grant-inbox-to", role, "--ledger", "orders", "--reason", "new"})
                  .exit_code,
              0);
    database().execute("SELECT revoke_inbox('" + role + "', 'orders')");
    EXPECT_THAT(acts("act, target, reason"),
                ElementsAre("grant worker|role " + role + "|new",
                            "grant operator|role " + role + "|new",
                            "grant inbox|role " + role + "|new",
                            "revoke inbox|role " + role + "|"));
    EXPECT_EQ(database().value("SELECT string_agg(target, ', ' ORDER BY entry) FROM audit_log "
                               "WHERE act = 'migrate up'"),
              "migration 3 audit, migration 4 merging, migration 5 inbox_corrections");
    database().execute("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

// As schemas that are upgraded have them.
TEST_F(Audit, TheMigrationGivesRolesOfBeforeWhatTheyNeed) {
    const std::string role = support::unique_name("old");
    database().execute("CREATE ROLE " + role);
    Connection owner(schema_.owner());
    grant_operator(owner, role);
    migrate_down(owner, 2);
    migrate_up(owner);
    const auto may = [&](const std::string& who, const std::string& rights) {
        return database().value("SELECT has_" + rights.substr(0, rights.find(' ')) +
                                "_privilege('" + who + "', '" + schema_.name() + "." +
                                rights.substr(rights.find(' ') + 1) + ")") == "t";
    };
    const std::string add_rows =
        "function record_act(text, text, text, text, jsonb)', 'EXECUTE'";
    const std::string read = "table audit_log', 'SELECT'";
    EXPECT_TRUE(may(role, add_rows) && may(support::worker_role, add_rows));
    EXPECT_TRUE(may(role, read));
    EXPECT_FALSE(may(support::worker_role, read));
    database().execute("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

TEST_F(Audit, IsShownByPersonActAndTime) {
    run_as_owner({"pause", "orders", "--group", "billing", "--reason", "first"});
    run_as_owner({"resume", "orders", "--group", "billing"});
    database().execute("UPDATE audit_log SET acted_at = now() - interval '2 days' WHERE act = "
                       "'pause'; UPDATE audit_log SET who = 'alice' WHERE act = 'resume'");
    const auto shown = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"audit", "--json"});
        std::vector<std::string> found;
        const Outcome outcome = run_as_owner(arguments);
        if (outcome.exit_code == 3) return found;
        for (const auto& act : outcome.json()) {
            if (act["act"] == "pause" || act["act"] == "resume") found.push_back(act["act"]);
        }
        return found;
    };
    EXPECT_THAT(shown({}), ElementsAre("pause", "resume"));
    EXPECT_THAT(shown({"--since", "1h"}), ElementsAre("resume"));
    EXPECT_THAT(shown({"--until", "1d"}), ElementsAre("pause"));
    EXPECT_THAT(shown({"--who", "alice"}), ElementsAre("resume"));
    EXPECT_THAT(shown({"--what", "pause"}), ElementsAre("pause"));
    EXPECT_THAT(shown({"--what", "paus"}), ElementsAre()) << "whole words";
    EXPECT_EQ(run_as_owner({"audit", "--who", "bob"}).exit_code, 3);
    const std::string table = run_as_owner({"audit", "--what", "pause"}).output;
    EXPECT_THAT(table, HasSubstr("billing/orders"));
    EXPECT_THAT(table, HasSubstr("first"));
    EXPECT_EQ(run_as_owner({"audit", "--since", "yesterday"}).exit_code, 64);
}

}  // namespace
}  // namespace onceward::operator_tests
