// Topics on two PostgreSQL servers, with the program itself: `migrate`, `check`, `run`, `explain`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "cli/admin/admin_server.h"
#include "lab/embedded/child_process.h"
#include "lab/embedded/private_postgres.h"
#include "lab/embedded/reserved_port.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/cutting_proxy.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::kafka_tests {
namespace {

using support::Database;
using support::eventually;
using support::ProducedMessage;
using testing::HasSubstr;
using testing::Not;

struct Answer {
    int exit_code = -1;
    std::string output;
};

class TwoDatabases : public testing::Test {
  protected:
    TwoDatabases() {
        for (const std::string& topic : {orders_, refunds_}) {
            support::kafka().create_topic(topic, 2);
        }
        for (PrivatePostgres* server : {&*west_, &*east_}) {
            Database(server->dsn())
                .execute("DROP TABLE IF EXISTS effects; CREATE TABLE effects (id text)");
        }
        // Line 5 is that of the server `east`.
        std::ofstream(file_) << "group: " << group_ << "\nkafka: {bootstrap_servers: '"
                             << support::kafka_bootstrap_servers()
                             // What is left of a process that could not close its members.
                             << "', properties: {session.timeout.ms: 2000, "
                                "heartbeat.interval.ms: 200}}\npostgres: {dsn: '"
                             << west_->dsn() << "', schema: " << schema_
                             << "}\ndatabases:\n  - {name: east, dsn: '" << east_->dsn()
                             << "'}\nworkers: 2\nadmin: {listen: '127.0.0.1:" << port_.number()
                             << "'}\ntopics:\n"
                             << topic(orders_, "postgres") << topic(refunds_, "east");
    }
    ~TwoDatabases() override {
        std::filesystem::remove(file_);
        std::filesystem::remove(log_);
    }
    static void SetUpTestSuite() {
        west_.emplace();
        east_.emplace();
    }
    static void TearDownTestSuite() {
        west_.reset();
        east_.reset();
    }

    // The same operation: only the servers keep the keys apart.
    static std::string topic(const std::string& name, const std::string& database) {
        return "  - name: " + name + "\n    database: " + database +
               "\n    start: earliest\n    key: {sources: [{header: id}], operation: pay}\n"
               "    sink: {table: public.effects, columns: {id: {header: id}}}\n";
    }
    static ChildOptions command(std::vector<std::string> arguments,
                                const std::filesystem::path& output) {
        ChildOptions options;
        options.command = std::move(arguments);
        options.command.insert(options.command.begin(), ONCEWARD_EXECUTABLE);
        options.output = output;
        return options;
    }
    Answer onceward(std::vector<std::string> arguments) const {
        arguments.insert(arguments.end(), {"-c", file_.string()});
        const auto output = std::filesystem::path(testing::TempDir()) / support::unique_name("out");
        ChildProcess process(command(std::move(arguments), output));
        const auto status = process.wait(60s);
        std::ostringstream text;
        text << std::ifstream(output).rdbuf();
        std::filesystem::remove(output);
        return {status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1, text.str()};
    }
    ChildProcess run() const { return ChildProcess(command({"run", "-c", file_.string()}, log_)); }

    // In the configuration.
    void replace(const std::string& old, const std::string& by) const {
        std::ostringstream text;
        text << std::ifstream(file_).rdbuf();
        std::string changed = text.str();
        changed.replace(changed.find(old), old.size(), by);
        std::ofstream(file_) << changed;
    }

    // Each key twice, in both partitions.
    static void send(const std::string& topic, int first, int count) {
        std::vector<ProducedMessage> messages;
        for (int i = first; i < first + count; ++i) {
            for (const int partition : {0, 1}) {
                messages.push_back({.partition = partition,
                                    .key = {},
                                    .payload = "{}",
                                    .headers = {{"id", "k" + std::to_string(i)}}});
            }
        }
        support::kafka().produce(topic, messages);
    }
    static std::int64_t number(PrivatePostgres& server, const std::string& sql) {
        return Database(server.dsn()).number(sql);
    }
    static bool applied(PrivatePostgres& server, std::int64_t count) {
        return eventually(patience,
                          [&] { return number(server, "SELECT count(*) FROM effects") >= count; });
    }
    static void expect_once(PrivatePostgres& server, std::int64_t count) {
        EXPECT_EQ(number(server, "SELECT count(*) FROM effects"), count);
        EXPECT_EQ(number(server, "SELECT count(DISTINCT id) FROM effects"), count);
    }
    // The sum of the fences of a topic on a server, -1 where there is none.
    std::int64_t fences(PrivatePostgres& server, const std::string& topic) const {
        return number(server, "SELECT coalesce(sum(next_offset), -1) FROM " + schema_ +
                                  ".fences WHERE topic = '" + topic + "'");
    }
    bool fences_reach(PrivatePostgres& server, const std::string& topic, std::int64_t sum) const {
        return eventually(patience, [&] { return fences(server, topic) == sum; });
    }
    bool ready_says(int status, const std::string& part) const {
        return eventually(patience, [&] {
            try {
                const AdminAnswer answer =
                    ask_admin_port({"127.0.0.1", port_.number()}, "/readyz", 5s);
                return answer.status == status && answer.body.find(part) != std::string::npos;
            } catch (const AdminError&) {
                return false;  // it does not listen yet
            }
        });
    }
    void stop(ChildProcess& process) const {
        process.send(SIGTERM);
        const auto status = process.wait(60s);
        EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0) << tail_of(log_);
    }

    static std::optional<PrivatePostgres> west_;  // `postgres`
    static std::optional<PrivatePostgres> east_;
    std::string schema_ = support::unique_name("schema");
    std::string group_ = support::unique_name("group");
    std::string orders_ = support::unique_name("orders");
    std::string refunds_ = support::unique_name("refunds");
    ReservedPort port_;
    std::filesystem::path file_ =
        std::filesystem::path(testing::TempDir()) / support::unique_name("config");
    std::filesystem::path log_ =
        std::filesystem::path(testing::TempDir()) / support::unique_name("log");
};

std::optional<PrivatePostgres> TwoDatabases::west_;
std::optional<PrivatePostgres> TwoDatabases::east_;

TEST_F(TwoDatabases, EachAppliesItsTopicOnceAndKnowsNothingOfTheOther) {
    const Answer migrated = onceward({"migrate", "up"});
    EXPECT_EQ(migrated.exit_code, 0) << migrated.output;
    EXPECT_THAT(migrated.output, HasSubstr("postgres: schema " + schema_ + " is at version"));
    EXPECT_THAT(migrated.output, HasSubstr("database east: schema " + schema_ + " is at version"));
    const Answer checked = onceward({"check", "--connect"});
    EXPECT_EQ(checked.exit_code, 0) << checked.output;

    send(orders_, 0, 100);
    send(refunds_, 0, 100);
    send(refunds_, 500, 1);
    ChildProcess process = run();
    ASSERT_TRUE(fences_reach(*west_, orders_, 200)) << tail_of(log_);
    ASSERT_TRUE(fences_reach(*east_, refunds_, 202)) << tail_of(log_);
    expect_once(*west_, 100);
    expect_once(*east_, 101);
    EXPECT_EQ(fences(*west_, refunds_), -1);
    EXPECT_EQ(fences(*east_, orders_), -1);
    EXPECT_TRUE(ready_says(200, "ok"));
    const std::string metrics = ask_admin_port({"127.0.0.1", port_.number()}, "/metrics", 5s).body;
    EXPECT_THAT(metrics,
                HasSubstr("onceward_postgres_connected{worker=\"3\",database=\"east\"} 1"));
    for (const std::string& topic : {orders_, refunds_}) {
        EXPECT_THAT(metrics, HasSubstr("onceward_group_messages_total{group=\"" + group_ +
                                       "\",topic=\"" + topic + "\",outcome=\"applied\"}"));
    }

    EXPECT_EQ(onceward({"explain", "k500", "--topic", refunds_}).exit_code, 0);
    EXPECT_EQ(onceward({"explain", "k500", "--topic", orders_}).exit_code, 3);
    const Answer offsets = onceward({"offsets", "--json"});
    EXPECT_THAT(offsets.output, HasSubstr("\"database\": \"east\""));
    EXPECT_THAT(offsets.output, HasSubstr("\"database\": \"postgres\""));
    EXPECT_EQ(onceward({"pause", refunds_}).exit_code, 0);
    const std::string pauses = "SELECT count(*) FROM " + schema_ + ".topic_pauses";
    EXPECT_EQ(number(*west_, pauses), 0);
    EXPECT_EQ(number(*east_, pauses), 1);
    EXPECT_EQ(onceward({"pause", refunds_, "--database", "postgres"}).exit_code, 64)
        << "no worker of the topic would see it there";
    send(orders_, 100, 50);
    EXPECT_TRUE(fences_reach(*west_, orders_, 300)) << tail_of(log_);
    EXPECT_EQ(fences(*east_, refunds_), 202);
    stop(process);
}

TEST_F(TwoDatabases, WhileOneIsAwayOnlyItsTopicsWait) {
    ASSERT_EQ(onceward({"migrate", "up"}).exit_code, 0);
    send(orders_, 0, 20);
    send(refunds_, 0, 20);
    ChildProcess process = run();
    ASSERT_TRUE(applied(*west_, 20)) << tail_of(log_);
    ASSERT_TRUE(applied(*east_, 20)) << tail_of(log_);

    east_->stop(PrivatePostgres::Stop::immediate);
    send(orders_, 20, 20);
    send(refunds_, 20, 20);
    EXPECT_TRUE(applied(*west_, 40)) << tail_of(log_);
    EXPECT_TRUE(ready_says(503, ": database east: ")) << tail_of(log_);
    const Answer checked = onceward({"check", "--connect"});
    EXPECT_EQ(checked.exit_code, 78);
    EXPECT_THAT(checked.output, HasSubstr(":5:5: error: databases[0]: PostgreSQL says:"));
    EXPECT_THAT(checked.output, HasSubstr("postgres: reached, with settings that suit"));
    const Answer migrated = onceward({"migrate", "up"});
    EXPECT_EQ(migrated.exit_code, 1) << "one is away, the other is checked all the same";
    EXPECT_THAT(migrated.output, HasSubstr("postgres: schema " + schema_ + " is at version"));

    stop(process);
    ChildProcess without = run();
    send(orders_, 40, 20);
    EXPECT_TRUE(applied(*west_, 60)) << "a process begins without it as well" << tail_of(log_);

    east_->start();
    EXPECT_TRUE(fences_reach(*east_, refunds_, 80)) << tail_of(log_);
    EXPECT_TRUE(fences_reach(*west_, orders_, 120)) << tail_of(log_);
    expect_once(*west_, 60);
    expect_once(*east_, 40);
    stop(without);
}

TEST_F(TwoDatabases, OneThatSaysNothingHoldsUpNeitherTheOthersTopicsNorTheProcessesEnd) {
    ASSERT_EQ(onceward({"migrate", "up"}).exit_code, 0);
    support::CuttingProxy proxy(support::CuttingProxy::Protocol::postgres, east_->port());
    const std::string dsn = east_->dsn();
    replace(dsn, dsn + " port=" + std::to_string(proxy.port()));
    replace("schema: ", "statement_timeout: 3s, lock_timeout: 1s, schema: ");
    replace("workers: 2", "drain_timeout: 2s\nworkers: 2");
    send(orders_, 0, 20);
    send(refunds_, 0, 20);
    ChildProcess process = run();
    ASSERT_TRUE(applied(*west_, 20)) << tail_of(log_);
    ASSERT_TRUE(applied(*east_, 20)) << tail_of(log_);
    proxy.black_hole(true);
    send(orders_, 20, 20);
    send(refunds_, 20, 20);
    EXPECT_TRUE(applied(*west_, 40)) << tail_of(log_);
    process.send(SIGTERM);
    const auto status = process.wait(60s);
    ASSERT_TRUE(status && WIFEXITED(*status)) << tail_of(log_);
    EXPECT_EQ(WEXITSTATUS(*status), 1);

    ChildProcess again = run();
    send(orders_, 40, 20);
    EXPECT_TRUE(applied(*west_, 60)) << tail_of(log_);
    proxy.black_hole(false);
    EXPECT_TRUE(fences_reach(*east_, refunds_, 80)) << tail_of(log_);
    expect_once(*west_, 60);
    expect_once(*east_, 40);
    stop(again);
}

TEST_F(TwoDatabases, ARunThatBeginsWhileOneIsReadOnlyWaitsForItAndReadsTheOthersTopics) {
    ASSERT_EQ(onceward({"migrate", "up"}).exit_code, 0);
    send(orders_, 0, 20);
    send(refunds_, 0, 20);
    Database writer(east_->dsn() + " options='-c default_transaction_read_only=off'");
    writer.execute("ALTER DATABASE postgres SET default_transaction_read_only = on");
    ChildProcess process = run();
    EXPECT_TRUE(applied(*west_, 20)) << tail_of(log_);
    EXPECT_TRUE(ready_says(503, ": database east: ")) << tail_of(log_);
    EXPECT_THAT(tail_of(log_, 100'000), HasSubstr("SQLSTATE 25006: the server is a standby"));
    writer.execute("ALTER DATABASE postgres RESET default_transaction_read_only");
    EXPECT_TRUE(fences_reach(*east_, refunds_, 40)) << tail_of(log_);
    expect_once(*west_, 20);
    expect_once(*east_, 20);
    stop(process);
}

TEST_F(TwoDatabases, AReloadRenewsTheWorkersOfTheServerAloneWhoseTopicsChange) {
    // A second worker of a server that joins late would take a partition from the first one.
    replace("workers: 2", "workers: 1");
    ASSERT_EQ(onceward({"migrate", "up"}).exit_code, 0);
    const std::string fees = support::unique_name("fees");
    support::kafka().create_topic(fees, 2);
    send(orders_, 0, 20);
    send(refunds_, 0, 20);
    send(fees, 50, 20);
    ChildProcess process = run();
    ASSERT_TRUE(fences_reach(*west_, orders_, 40)) << tail_of(log_);
    ASSERT_TRUE(fences_reach(*east_, refunds_, 40)) << tail_of(log_);
    const auto owners = [&](PrivatePostgres& server) {
        return Database(server.dsn())
            .value("SELECT string_agg(owner::text, ' ' ORDER BY topic, partition) FROM " + schema_ +
                   ".fences WHERE topic IN ('" + orders_ + "', '" + refunds_ + "')");
    };
    const std::string west = owners(*west_);
    const std::string east = owners(*east_);
    std::ofstream(file_, std::ios::app) << topic(fees, "east");
    process.send(SIGHUP);
    EXPECT_TRUE(fences_reach(*east_, fees, 40)) << tail_of(log_);
    send(orders_, 20, 20);
    send(refunds_, 20, 20);
    EXPECT_TRUE(fences_reach(*west_, orders_, 80)) << tail_of(log_);
    EXPECT_TRUE(fences_reach(*east_, refunds_, 80)) << tail_of(log_);
    EXPECT_EQ(owners(*west_), west) << "nobody took its fences: " << tail_of(log_);
    EXPECT_NE(owners(*east_), east);
    EXPECT_EQ(fences(*west_, fees), -1);
    expect_once(*west_, 40);
    expect_once(*east_, 60);
    stop(process);
}

TEST_F(TwoDatabases, ARunIsRefusedWhereOneHasAnotherSchemaVersion) {
    ASSERT_EQ(onceward({"migrate", "up", "--database", "postgres"}).exit_code, 0);
    ChildProcess process = run();
    const auto status = process.wait(60s);
    ASSERT_TRUE(status && WIFEXITED(*status));
    EXPECT_EQ(WEXITSTATUS(*status), 1);
    EXPECT_THAT(tail_of(log_), HasSubstr("database east: "));
    EXPECT_THAT(tail_of(log_), HasSubstr("onceward migrate up"));
    EXPECT_EQ(onceward({"migrate", "down", "--to", "0"}).exit_code, 64) << "of which server?";
    EXPECT_EQ(onceward({"migrate", "up", "--database", "north"}).exit_code, 64);
    EXPECT_EQ(onceward({"migrate", "up", "--dsn", east_->dsn()}).exit_code, 64);
    EXPECT_EQ(onceward({"migrate", "up", "--dsn", east_->dsn(), "--database", "east"}).exit_code,
              0);
    EXPECT_EQ(onceward({"check", "--connect"}).exit_code, 0);
}

TEST_F(TwoDatabases, ATopicThatIsMovedToAnotherServerHaltsUntilSomebodySaysWhereToBegin) {
    ASSERT_EQ(onceward({"migrate", "up"}).exit_code, 0);
    send(orders_, 0, 20);
    ChildProcess before = run();
    ASSERT_TRUE(fences_reach(*west_, orders_, 40)) << tail_of(log_);
    stop(before);
    replace(orders_ + "\n    database: postgres", orders_ + "\n    database: east");

    ChildProcess after = run();
    EXPECT_TRUE(ready_says(503, "partition " + orders_ + "/0 halted: ")) << tail_of(log_);
    EXPECT_EQ(number(*east_, "SELECT count(*) FROM effects"), 0);
    stop(after);
}

TEST_F(TwoDatabases, StaticMembersLeaveATopicThatIsMovedAndGoOnWithTheirOthers) {
    ASSERT_EQ(onceward({"migrate", "up"}).exit_code, 0);
    const std::string fees = support::unique_name("fees");
    support::kafka().create_topic(fees, 2);
    replace("kafka: {", "kafka: {instance_id: process, ");
    replace(refunds_ + "\n    database: east", refunds_ + "\n    database: postgres");
    std::ofstream(file_, std::ios::app) << topic(fees, "east");
    send(fees, 60, 20);
    send(orders_, 0, 20);
    send(refunds_, 20, 20);
    ChildProcess before = run();
    ASSERT_TRUE(fences_reach(*west_, orders_, 40)) << tail_of(log_);
    ASSERT_TRUE(fences_reach(*west_, refunds_, 40)) << tail_of(log_);
    ASSERT_TRUE(fences_reach(*east_, fees, 40)) << tail_of(log_);
    stop(before);
    replace(refunds_ + "\n    database: postgres", refunds_ + "\n    database: east");

    ChildProcess after = run();
    send(orders_, 40, 20);
    // The members from before are missed after their session's time-out.
    EXPECT_TRUE(fences_reach(*west_, orders_, 80)) << tail_of(log_);
    EXPECT_TRUE(ready_says(503, "partition " + refunds_ + "/0 halted: ")) << tail_of(log_);
    stop(after);
}

}  // namespace
}  // namespace onceward::kafka_tests
