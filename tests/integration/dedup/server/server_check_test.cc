#include "dedup/server/server_check.h"

#include <thread>

#include "dedup/retention/retention.h"
#include "lab/embedded/private_postgres.h"
#include "tests/integration/dedup/core_fixture.h"
#include "tests/support/cutting_proxy.h"

namespace onceward::support {
namespace {

using ::testing::HasSubstr;

class ServerCheckTest : public CoreTest {
  protected:
    // The text of the refusal, '' if the server is taken.
    static std::string refusal(ConnectionOptions options, const std::string& setting = "") {
        if (!setting.empty()) {
            options.dsn = options.dsn.reveal() + " options='-c " + setting + "'";
        }
        try {
            Connection connection(options);
            check_server(connection);
        } catch (const ServerRefused& refused) {
            return refused.what();
        }
        return "";
    }
};

TEST_F(ServerCheckTest, TakesAServerAsItComes) {
    EXPECT_EQ(refusal(schema_.worker()), "");
    EXPECT_EQ(refusal(schema_.worker(), "synchronous_commit=local"), "");
    EXPECT_EQ(refusal(schema_.worker(), "synchronous_commit=remote_apply"), "");
}

TEST_F(ServerCheckTest, RefusesSynchronousCommitOff) {
    EXPECT_THAT(refusal(schema_.worker(), "synchronous_commit=off"),
                HasSubstr("synchronous_commit"));
}

// A fail-over in progress, or a stale address: another connection may reach the primary.
TEST_F(ServerCheckTest, AReadOnlyServerIsAReasonToConnectAgain) {
    ConnectionOptions options = schema_.worker();
    options.dsn = options.dsn.reveal() + " options='-c default_transaction_read_only=on'";
    Connection connection(options);
    try {
        check_server(connection);
        FAIL() << "a read-only server was taken";
    } catch (const PostgresError& error) {
        EXPECT_EQ(error.sqlstate(), "25006");
        EXPECT_EQ(classify(error.diagnosis(), Origin::ours, 0), FailureAction::reconnect);
    }
}

TEST_F(ServerCheckTest, RefusesADatabaseThatIsNotUtf8) {
    const std::string name = unique_name("latin");
    database().execute("CREATE DATABASE " + name +
                       " ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    ConnectionOptions options = schema_.worker();
    options.dsn = options.dsn.reveal() + " dbname=" + name;
    EXPECT_THAT(refusal(options), HasSubstr("LATIN1"));
    database().execute("DROP DATABASE " + name);
}

// A pooler answers with a process id of its own, in session mode as in transaction mode. Here it is
// one byte of the answer's BackendKeyData that differs.
TEST_F(ServerCheckTest, RefusesAPoolerBetween) {
    ConnectionOptions direct = schema_.worker();
    const std::string dsn = direct.dsn.reveal();
    CuttingProxy proxy(CuttingProxy::Protocol::postgres,
                       static_cast<std::uint16_t>(std::stoi(dsn.substr(dsn.find("port=") + 5))));
    ConnectionOptions options = direct;
    options.dsn = dsn + " port=" + std::to_string(proxy.port());
    EXPECT_EQ(refusal(options), "") << "a plain proxy is no pooler";
    proxy.answer_with_own_process_id(true);
    EXPECT_THAT(refusal(options), HasSubstr("a pooler is between"));
}

// Its thread must continue, as somebody may change the server.
TEST_F(ServerCheckTest, ARetentionJobCountsARefusalAsAFailureAndGoesOn) {
    ConnectionOptions losing = schema_.worker();
    losing.dsn = losing.dsn.reveal() + " options='-c synchronous_commit=off'";
    const std::string dsn = schema_.worker().dsn.reveal();
    CuttingProxy proxy(CuttingProxy::Protocol::postgres,
                       static_cast<std::uint16_t>(std::stoi(dsn.substr(dsn.find("port=") + 5))));
    proxy.answer_with_own_process_id(true);
    ConnectionOptions pooled = schema_.worker();
    pooled.dsn = dsn + " port=" + std::to_string(proxy.port());
    for (const ConnectionOptions& options : {losing, pooled}) {
        RetentionJob job({.connection = options,
                          .ledgers = {LedgerOptions{.name = "orders"}},
                          .every = std::chrono::milliseconds(10)});
        std::jthread thread([&](const std::stop_token& stop) { job.run(stop); });
        EXPECT_TRUE(
            eventually(std::chrono::seconds(20), [&] { return job.counts().failures >= 2; }));
    }
}

TEST_F(ServerCheckTest, RefusesAServerThatACrashWouldDamage) {
    PrivatePostgres server({.fsync = false, .settings = {}, .parent = {}});
    ConnectionOptions options;
    options.dsn = server.dsn();
    EXPECT_THAT(refusal(options), HasSubstr("fsync"));
    server.set("fsync", "on");
    server.set("full_page_writes", "off");
    EXPECT_TRUE(eventually(std::chrono::seconds(10), [&] {
        return refusal(options).find("full_page_writes") != std::string::npos;
    }));
}

}  // namespace
}  // namespace onceward::support
