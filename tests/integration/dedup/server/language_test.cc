// A server that does not speak English: a rival read the texts of errors, and froze partitions.

#include <cstdlib>
#include <filesystem>

#include "lab/embedded/child_process.h"
#include "lab/embedded/private_postgres.h"
#include "tests/integration/dedup/core_fixture.h"
#include "tests/support/unique.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Language : public ::testing::Test {
  protected:
    // A locale of the test's own, so that none must be installed. Debian 13's C library has no
    // other way: there LANGUAGE counts as little in C.UTF-8 as in C.
    PrivatePostgres german() {
        std::filesystem::create_directories(locales_);
        ChildOptions locale;
        locale.command = {"localedef",
                          "--no-archive",
                          "-i",
                          "de_DE",
                          "-f",
                          "UTF-8",
                          (locales_ / "de_DE.UTF-8").string()};
        run_to_end(std::move(locale), 60s);
        setenv("LOCPATH", locales_.c_str(), 1);
        PrivatePostgres server({.settings = {{"lc_messages", "de_DE.UTF-8"}}, .parent = {}});
        unsetenv("LOCPATH");
        return server;
    }
    ~Language() override { std::filesystem::remove_all(locales_); }
    static PostgresError error_of(Connection& connection, const std::string& sql) {
        try {
            connection.execute(sql);
        } catch (const PostgresError& error) {
            return error;
        }
        throw std::logic_error("no error: " + sql);
    }

    const std::filesystem::path locales_ =
        std::filesystem::temp_directory_path() / unique_name("onceward-locales");
    PrivatePostgres server_ = german();
};

TEST_F(Language, DecidesNothing) {
    create_worker_role(server_.dsn());
    FreshSchema schema(PostgresAddress{server_.dsn(), ""});
    const std::string table = schema.user_table(
        "effects", std::string(effect_columns) + ", number integer CHECK (number > 0)");
    Connection connection(schema.worker());
    const PostgresError division = error_of(connection, "SELECT 1/0");
    EXPECT_THAT(division.diagnosis().message, HasSubstr("Division durch Null"))
        << "the test is about a server that does not speak English";
    EXPECT_EQ(classify(division.diagnosis(), Origin::sink, 0), FailureAction::reject);

    ScriptedLog log(2);
    for (int i = 0; i < 20; ++i) {
        const char* payload = i == 7 ? "-1" : i == 9 ? "x" : i == 11 ? "99999999999" : "1";
        log.append(0, {.key = std::to_string(i), .payload = payload});
        log.append(1, {.key = "other " + std::to_string(i), .payload = "1"});
    }
    EffectSink sink(table, "number", "payload::integer");
    CoreWorkerOptions options;
    options.connection = schema.worker();
    options.batch_messages = 10;
    CoreWorker worker(log, sink, options);
    ASSERT_TRUE(worker.step());
    // 55P03 is tried again, 57P01 makes a new session, and the run ends all the same.
    schema.database().execute("BEGIN; SELECT FROM fences WHERE partition = 0 FOR UPDATE");
    worker.connection().execute("SET lock_timeout = '50ms'");
    ASSERT_TRUE(worker.step());
    EXPECT_EQ(worker.failures["55P03"], 1);
    schema.database().execute("ROLLBACK");
    schema.database().execute("SELECT pg_terminate_backend(" +
                              std::to_string(worker.connection().pid()) + ", 5000)");
    ASSERT_TRUE(worker.run());
    EXPECT_THAT(violations(schema, log, table, {.some_rejected = true}), IsEmpty());
    EXPECT_EQ(schema.database().value(
                  "SELECT string_agg(sqlstate, ' ' ORDER BY record_offset) FROM dead_letters"),
              "23514 22P02 22003");
}

}  // namespace
}  // namespace onceward::support
