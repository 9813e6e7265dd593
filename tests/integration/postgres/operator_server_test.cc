// What each command asks of its server and of its role, before it does anything.

#include "dedup/server/migration.h"
#include "tests/integration/postgres/operator_scene.h"
#include "tests/support/cutting_proxy.h"
#include "tests/support/kafka.h"
#include "tests/support/old_migrations.h"

namespace onceward::operator_tests {
namespace {

using support::CuttingProxy;
using testing::Not;

struct Command {
    const char* name;
    std::vector<std::string> arguments;
};

class ServerByHand : public Operator {
  protected:
    ServerByHand() { cluster_.create_topic("orders", 1); }

    // They change something, or say what they would change.
    std::vector<Command> changing() const {
        return {
            {"pause", {"pause", "orders"}},
            {"resume", {"resume", "orders"}},
            {"offsets --set",
             {"offsets", "--topic", "orders", "--partition", "0", "--set", "1", "--reason", "a",
              "--yes"}},
            {"offsets skip",
             {"offsets", "skip", "--topic", "orders", "--partition", "0", "--offset", "0", "--to",
              "1", "--reason", "a", "--yes"}},
            {"offsets retry", {"offsets", "retry", "--topic", "orders", "--partition", "0"}},
            {"groups retire", {"groups", "retire", "billing", "--yes"}},
            {"forget",
             {"forget", "k", "--topic", "orders", "--tenant", "acme", "--reason", "a", "--yes"}},
            {"forget --tenant", {"forget", "--tenant", "acme", "--reason", "a", "--yes"}},
            {"replay",
             {"replay", "--topic", "orders", "--partition", "0", "--from", "0", "--to", "1",
              "--reason", "a", "--yes"}},
            {"import",
             {"import", "--topic", "orders", "--tenant", "acme", "--kind", "field:/id", "--query",
              "SELECT 'k'", "--yes"}},
            {"dlq redrive", {"dlq", "redrive", "--topic", "orders", "--yes"}},
            {"dlq discard", {"dlq", "discard", "--topic", "orders", "--reason", "a", "--yes"}},
            {"retention --run-once", {"retention", "--run-once"}},
            {"migrate up", {"migrate", "up"}},
        };
    }
    static std::vector<Command> looking() {
        return {
            {"offsets", {"offsets"}},
            {"groups list", {"groups", "list"}},
            {"explain", {"explain", "k", "--topic", "orders", "--tenant", "acme"}},
            {"dlq list", {"dlq", "list"}},
            {"dlq show", {"dlq", "show", "1"}},
            {"retention", {"retention"}},
            {"outbox", {"outbox"}},
            {"migrate status", {"migrate", "status"}},
        };
    }
    // `more`: of the connection string.
    Outcome with(const Command& command, const std::string& more) {
        std::vector<std::string> arguments = command.arguments;
        arguments.insert(arguments.end(), {"-c", configured_.file(), "--schema", schema_.name(),
                                           "--dsn", schema_.server().dsn + more});
        return onceward(std::move(arguments));
    }
    std::string role() {
        const std::string role = support::unique_name("operator");
        database().execute("CREATE ROLE " + role);
        Connection owner(schema_.owner());
        grant_operator(owner, role);
        return role;
    }

    MockCluster cluster_;
    const Configured configured_{cluster_.bootstrap_servers(), "    ledger: {name: orders}\n"};
};

TEST_F(ServerByHand, NoCommandGoesThroughAPooler) {
    const std::string dsn = schema_.server().dsn;
    CuttingProxy proxy(CuttingProxy::Protocol::postgres,
                       static_cast<std::uint16_t>(std::stoi(dsn.substr(dsn.find("port=") + 5))));
    proxy.answer_with_own_process_id(true);
    const std::string through = " sslmode=disable port=" + std::to_string(proxy.port());
    for (const auto& commands : {changing(), looking()}) {
        for (const Command& command : commands) {
            const Outcome refused = with(command, through);
            EXPECT_EQ(refused.exit_code, 1) << command.name << ": " << refused.output;
            EXPECT_THAT(refused.output, HasSubstr("a pooler is between")) << command.name;
        }
    }
}

TEST_F(ServerByHand, WhatChangesSomethingNeedsACommitThatStays) {
    fence(0, 0);
    const std::string off = " options='-c synchronous_commit=off'";
    for (const Command& command : changing()) {
        const Outcome refused = with(command, off);
        EXPECT_EQ(refused.exit_code, 1) << command.name << ": " << refused.output;
        EXPECT_THAT(refused.output, HasSubstr("synchronous_commit = off")) << command.name;
    }
    EXPECT_EQ(row("next_offset, retired_at IS NULL"), "0 t");
    for (const Command& command : looking()) {
        EXPECT_THAT(with(command, off).output, Not(HasSubstr("synchronous_commit")))
            << command.name;
    }
}

TEST_F(ServerByHand, AMissingRightIsASentenceWithTheRoleAndTheGrant) {
    const std::string name = support::unique_name("nobody");
    database().execute("CREATE ROLE " + name + " LOGIN PASSWORD 'nobody'");
    const std::string as_nobody = " user=" + name + " password=nobody";
    for (const auto& commands : {changing(), looking()}) {
        for (const Command& command : commands) {
            const Outcome refused = with(command, as_nobody);
            EXPECT_EQ(refused.exit_code, 1) << command.name << ": " << refused.output;
            EXPECT_THAT(refused.output, HasSubstr("permission denied for")) << command.name;
            EXPECT_THAT(refused.output, HasSubstr(name)) << command.name;
            EXPECT_THAT(refused.output, HasSubstr("onceward migrate")) << command.name;
        }
    }
    database().execute("DROP ROLE " + name);
}

TEST_F(ServerByHand, ASchemaOfBeforeTheReleaseIsRefusedByEveryCommand) {
    database().execute(support::record_old_migrations(schema_.name()));
    std::vector<Command> commands = changing();
    for (const Command& command : looking()) commands.push_back(command);
    commands.push_back({"migrate down", {"migrate", "down", "--to", "0", "--yes"}});
    for (const Command& command : commands) {
        const Outcome refused = with(command, "");
        EXPECT_EQ(refused.exit_code, 1) << command.name << ": " << refused.output;
        EXPECT_THAT(refused.output, HasSubstr("from before the first release")) << command.name;
        EXPECT_THAT(refused.output, HasSubstr("drop it and run `onceward migrate up`"))
            << command.name;
    }
}

TEST_F(ServerByHand, AnOperatorsRoleReplaysAndImports) {
    const std::string table = schema_.user_table("orders", "id text");
    support::Kafka(cluster_.bootstrap_servers())
        .produce("orders", {{.partition = 0,
                             .key = {},
                             .payload = R"({"merchant": "acme", "id": "1"})",
                             .headers = {}}});
    fence(0, 1);
    const std::string name = role();
    database().execute("GRANT SELECT, INSERT ON " + table + " TO " + name);
    const std::string as_operator =
        " options='-c role=" + name + " -c search_path=" + schema_.name() + "'";
    for (const Command& command : changing()) {
        const std::string which = command.name;
        if (which != "replay" && which != "import") continue;
        const Outcome done = with(command, as_operator);
        EXPECT_EQ(done.exit_code, 0) << which << ": " << done.output;
    }
    EXPECT_EQ(database().number("SELECT count(*) FROM " + table), 1);
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_1_1"), 2);
    database().execute("DROP OWNED BY " + name + "; DROP ROLE " + name);
}

// `replay` claims as a worker does, and a step of retention is a worker's. A role that was granted
// before a function was added gets it by a second grant.
TEST_F(ServerByHand, AnOperatorsRoleCallsWhatAWorkerCalls) {
    const std::string name = role();
    database().execute("REVOKE EXECUTE ON FUNCTION holders(text), clock_skew(interval) FROM " +
                       name);
    const std::string lacking =
        "SELECT coalesce(string_agg(p.proname, ' ' ORDER BY p.proname), '') FROM pg_proc p WHERE "
        "p.pronamespace = '" +
        schema_.name() + "'::regnamespace AND has_function_privilege('" +
        std::string(support::worker_role) +
        "', p.oid, 'EXECUTE') AND NOT has_function_privilege('" + name + "', p.oid, 'EXECUTE')";
    EXPECT_EQ(database().value(lacking), "clock_skew holders remove_sent");
    Connection owner(schema_.owner());
    grant_operator(owner, name);
    EXPECT_EQ(database().value(lacking), "remove_sent") << "of the outbox's relay alone";
    database().execute("DROP OWNED BY " + name + "; DROP ROLE " + name);
}

TEST_F(ServerByHand, AnOperatorsRoleTakesAStepOfRetention) {
    fence(0, 100);
    claim(1, uuid_of("record_key", "k-1"), 41);
    rotate(1);
    database().execute(
        "UPDATE generations SET created_at = clock_timestamp() - interval '3 days', sealed_at = "
        "clock_timestamp() - interval '3 days' WHERE generation = 1; "
        "UPDATE fences SET watermark = clock_timestamp(); "
        "UPDATE ledger_feeds SET partitions = 1, watermark = clock_timestamp()");
    const std::string name = role();
    const Outcome step =
        with({"", {"retention", "--run-once", "--json"}}, " options='-c role=" + name + "'");
    EXPECT_EQ(step.exit_code, 0) << step.output;
    EXPECT_EQ(step.last_json()[0]["expired"], 1);
    const Outcome next =
        with({"", {"retention", "--run-once", "--json"}}, " options='-c role=" + name + "'");
    EXPECT_EQ(next.last_json()[0]["tables_dropped"], 1) << next.output;
    database().execute("DROP OWNED BY " + name + "; DROP ROLE " + name);
}

TEST_F(ServerByHand, ARoleThatDoesNotExistIsFoundBeforeTheFirstMigration) {
    const std::string other = support::unique_name("operator");
    const auto up = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"migrate", "up"});
        arguments.insert(arguments.end(),
                         {"--dsn", schema_.server().dsn, "--schema", other});
        return onceward(arguments);
    };
    const std::vector<std::vector<std::string>> grants{
        {"--grant-to", "nobody_at_all"},
        {"--grant-operator-to", "nobody_at_all"},
        {"--grant-inbox-to", "nobody_at_all", "--ledger", "payments"}};
    for (const std::vector<std::string>& grant : grants) {
        const Outcome refused = up(grant);
        EXPECT_EQ(refused.exit_code, 64) << grant.front() << ": " << refused.output;
        EXPECT_THAT(refused.output, HasSubstr("no role nobody_at_all")) << grant.front();
    }
    EXPECT_EQ(database().value("SELECT to_regnamespace('" + other + "') IS NULL"), "t");
}

TEST_F(ServerByHand, AWayDownThatEndsEarlySaysWhatItTookBack) {
    database().execute("CREATE VIEW of_the_log AS SELECT * FROM audit_log");
    const Outcome failed = onceward({"migrate", "down", "--to", "0", "--yes", "--dsn",
                                     schema_.server().dsn, "--schema", schema_.name()});
    EXPECT_EQ(failed.exit_code, 1);
    EXPECT_THAT(failed.output, HasSubstr("took back 5, 4 before it failed"));
    EXPECT_THAT(failed.output, HasSubstr("other objects depend on it"));
    EXPECT_EQ(database().value("SELECT string_agg(number::text, ' ' ORDER BY number) "
                               "FROM schema_migrations"),
              "1 2 3");
}

}  // namespace
}  // namespace onceward::operator_tests
