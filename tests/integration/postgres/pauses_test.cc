// Who may pause a topic, where it shows, and what the roles may do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "dedup/ledger/ledger.h"
#include "dedup/operator/interventions.h"
#include "dedup/server/migration.h"
#include "lab/embedded/child_process.h"
#include "schemas/queries.h"
#include "tests/support/postgres.h"
#include "tests/support/unique.h"

namespace onceward {
namespace {

using testing::HasSubstr;

class Pauses : public testing::Test {
  protected:
    ~Pauses() override {
        schema_.database().execute("DROP OWNED BY " + role_ + "; DROP ROLE " + role_);
    }
    // The exit code, then what was printed.
    std::pair<int, std::string> run(const std::string& dsn, std::vector<std::string> arguments) {
        const std::filesystem::path output =
            std::filesystem::path(testing::TempDir()) / support::unique_name("pauses");
        arguments.insert(arguments.begin(), ONCEWARD_EXECUTABLE);
        for (const std::string& argument :
             {std::string("--dsn"), dsn, std::string("--schema"), schema_.name()}) {
            arguments.push_back(argument);
        }
        ChildOptions options;
        options.command = std::move(arguments);
        options.output = output;
        ChildProcess process(options);
        const auto status = process.wait(std::chrono::seconds(30));
        std::ostringstream text;
        text << std::ifstream(output).rdbuf();
        std::filesystem::remove(output);
        return {status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1, text.str()};
    }
    std::string as_operator() const {
        return schema_.server().dsn + " options='-c role=" + role_ + "'";
    }
    std::vector<TopicPause> open(const std::string& group = "billing") {
        Connection connection(schema_.worker());
        return open_pauses(connection, group);
    }
    void feed(const std::string& group) {
        Connection connection(schema_.worker());
        register_ledger(connection, {.name = "orders"}, group, "orders");
    }

    support::FreshSchema schema_;
    std::string role_ = [this] {
        const std::string role = support::unique_name("operator");
        schema_.database().execute("CREATE ROLE " + role);
        return role;
    }();
};

TEST_F(Pauses, TheWorkersRoleMayOnlyReadThemAndTheAnswerSaysWhatToGrant) {
    const auto [code, text] =
        run(schema_.server().worker_dsn, {"pause", "orders", "--group", "billing"});
    EXPECT_EQ(code, 1);
    EXPECT_THAT(text, HasSubstr("--grant-operator-to"));
    EXPECT_TRUE(open().empty());
}

TEST_F(Pauses, AnOperatorsRolePausesShowsMovesAndResumes) {
    ASSERT_EQ(run(schema_.server().dsn, {"migrate", "up", "--grant-operator-to", role_}).first, 0);
    const std::string dsn = as_operator();
    EXPECT_EQ(run(dsn, {"offsets", "--group", "billing", "--topic", "orders", "--partition", "0",
                        "--set", "7", "--yes", "--reason", "a test"})
                  .first,
              0);
    EXPECT_EQ(run(dsn, {"offsets", "--group", "billing", "--topic", "orders", "--partition", "0",
                        "--set", "9", "--yes", "--reason", "a test"})
                  .first,
              0);
    EXPECT_EQ(run(dsn, {"offsets", "retry", "--group", "billing", "--topic", "orders",
                        "--partition", "0"})
                  .first,
              0);
    EXPECT_EQ(run(dsn, {"offsets", "skip", "--group", "billing", "--topic", "orders", "--partition",
                        "0", "--offset", "9", "--to", "10", "--reason", "disk", "--yes"})
                  .first,
              0);
    EXPECT_EQ(run(dsn, {"pause", "orders", "--group", "billing", "--reason", "first"}).first, 0);
    EXPECT_THAT(run(dsn, {"pause", "orders", "--group", "billing", "--reason", "second"}).second,
                HasSubstr("already"));
    ASSERT_EQ(open().size(), 1U);
    EXPECT_EQ(open()[0].reason, "second");
    for (const char* command : {"offsets", "groups"}) {
        const std::vector<std::string> arguments =
            std::string(command) == "offsets"
                ? std::vector<std::string>{"offsets", "--group", "billing"}
                : std::vector<std::string>{"groups", "list"};
        EXPECT_THAT(run(dsn, arguments).second, HasSubstr("second")) << command;
    }
    EXPECT_EQ(run(dsn, {"groups", "retire", "billing", "--yes"}).first, 0);
    EXPECT_EQ(run(dsn, {"explain", "k", "--group", "billing", "--topic", "orders"}).first, 3);
    EXPECT_EQ(run(dsn, {"resume", "orders", "--group", "billing"}).first, 0);
    EXPECT_EQ(run(dsn, {"resume", "orders", "--group", "billing"}).first, 3);
    EXPECT_TRUE(open().empty());
}

TEST_F(Pauses, OfOneGroupAreNothingToAnother) {
    feed("shipping");
    EXPECT_EQ(run(schema_.server().dsn, {"pause", "orders", "--group", "shipping"}).first, 0);
    EXPECT_EQ(open("shipping").size(), 1U);
    EXPECT_TRUE(open().empty());
}

TEST_F(Pauses, OfATopicThatTheGroupDoesNotHaveAreRefused) {
    feed("billing");
    const auto [code, text] = run(schema_.server().dsn, {"pause", "ordrs", "--group", "billing"});
    EXPECT_EQ(code, 3) << text;
    EXPECT_THAT(text, HasSubstr("group billing has no topic ordrs"));
    EXPECT_THAT(text, HasSubstr("`onceward groups list`"));
    EXPECT_EQ(run(schema_.server().dsn, {"pause", "orders", "--group", "biling"}).first, 3);
    EXPECT_EQ(schema_.database().number("SELECT count(*) FROM topic_pauses"), 0);
}

TEST_F(Pauses, OfARouteAreRefused) {
    Connection worker(schema_.worker());
    register_requests(worker, {.name = "orders"}, "billing", "POST /orders",
                      std::chrono::seconds(10));
    const auto [code, text] =
        run(schema_.server().dsn, {"pause", "POST /orders", "--group", "billing"});
    EXPECT_EQ(code, 3) << text;
    EXPECT_THAT(text, HasSubstr("group billing has no topic POST /orders"));
    EXPECT_TRUE(open().empty());
}

TEST_F(Pauses, TheWorkersRoleHasWhatItNeeds) {
    EXPECT_TRUE(open().empty()) << "the worker's role reads it";
    Connection worker(schema_.worker());
    EXPECT_EQ(worker.query(sql::worker_privileges, {}).rows(), 0);
}

TEST_F(Pauses, TheOperatorsRoleHasWhatItNeeds) {
    Connection owner(schema_.owner());
    grant_operator(owner, role_);
    const std::string schema = "'" + schema_.name() + ".";
    EXPECT_EQ(schema_.database().value("SELECT has_function_privilege('" + role_ + "', " + schema +
                                       "discard_dead_letters(bigint[], text)', 'EXECUTE') AND "
                                       "has_function_privilege('" +
                                       role_ + "', " + schema +
                                       "evict_claims(integer, uuid[], text)', 'EXECUTE') AND "
                                       "has_column_privilege('" +
                                       role_ + "', " + schema +
                                       "dead_letters', 'redriven_at', 'UPDATE')"),
              "t");
    EXPECT_EQ(schema_.database().value("SELECT has_table_privilege('" + role_ + "', " + schema +
                                       "dead_letters', 'DELETE')"),
              "f");
}

}  // namespace
}  // namespace onceward
