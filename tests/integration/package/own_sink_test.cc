// The examples as a user builds them: from an installed package, in folders of their own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "consumer/produce/producer.h"
#include "lab/embedded/child_process.h"
#include "lab/kafka/mock_cluster.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres.h"
#include "tests/support/recording_server.h"
#include "tests/support/unique.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

std::string contents(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

// Installs the package and builds the examples against it, once for all tests here.
class OwnSink : public ::testing::Test {
  protected:
    static void SetUpTestSuite() {
        folder_ = fs::temp_directory_path() / unique_name("package");
        fs::create_directories(folder_);
        const auto cmake = [](std::vector<std::string> arguments) {
            arguments.insert(arguments.begin(), "cmake");
            run_to_end({.command = std::move(arguments),
                        .environment = {},
                        .output = {},
                        .folder = {},
                        .identity = {}},
                       5min);
        };
        const std::string prefix = folder_ / "prefix";
        cmake({"--install", ONCEWARD_BUILD_FOLDER, "--prefix", prefix});
        const std::string examples = ONCEWARD_SOURCE_FOLDER "/examples/";
        for (const char* example : {"own_sink", "once", "client"}) {
            const std::string build = folder_ / example;
            cmake({"-S", examples + example, "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix,
                   "-DCMAKE_CXX_FLAGS=" ONCEWARD_EXAMPLE_FLAGS});
            cmake({"--build", build});
        }
    }
    static void TearDownTestSuite() { fs::remove_all(folder_); }

    fs::path program(const std::string& name, const char* example = "own_sink") {
        return folder_ / example / name;
    }
    // With the example's client; its exit code.
    int place(const RecordingServer& server, const char* order, const char* cents) {
        fs::remove(placing_);
        ChildProcess process({.command = {program("place_order", "client"),
                                          "http://127.0.0.1:" + std::to_string(server.port()),
                                          folder_ / "keys", order, cents},
                              .environment = {},
                              .output = placing_,
                              .folder = {},
                              .identity = {}});
        const int status = process.wait(30s).value_or(-1);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    static inline fs::path folder_;
    const fs::path placing_ = folder_ / "client.log";
    FreshSchema schema_;
};

TEST_F(OwnSink, IsTestedWithoutKafkaByTheTrialOfThePackage) {
    EXPECT_NO_THROW(run_to_end({.command = {program("balance_sink_test"), schema_.server().dsn},
                                .environment = {},
                                .output = {},
                                .folder = {},
                                .identity = {}},
                               1min));
}

TEST_F(OwnSink, HasBesideItAProgramThatPaysOnceForEachKey) {
    const std::string table =
        schema_.user_table("payments", "account text NOT NULL, amount numeric NOT NULL");
    const fs::path output = folder_ / "once.log";
    const auto pay = [&](const char* key, const char* amount) {
        fs::remove(output);
        ChildProcess process({.command = {program("once_payment", "once"),
                                          schema_.worker().dsn.reveal() +
                                              " options='-c search_path=" + schema_.name() + "'",
                                          key, "alice", amount},
                              .environment = {"ONCEWARD_EXAMPLE_SCHEMA=" + schema_.name()},
                              .output = output,
                              .folder = {},
                              .identity = {}});
        const std::optional<int> status = process.wait(30s);
        return std::to_string(status.value_or(-1) == 0 ? 0 : 1) + " " + contents(output);
    };
    EXPECT_EQ(pay("k-1", "10"), "0 booked 10 to alice\n");
    EXPECT_EQ(pay("k-1", "10"), "0 booked 10 to alice (before)\n");
    EXPECT_EQ(pay("k-1", "11"), "1 the key was used for another payment\n");
    EXPECT_EQ(pay("k-2", "-5"), "1 a payment is not negative\n");
    EXPECT_EQ(pay("k-2", "-5"), "1 a payment is not negative (before)\n");
    EXPECT_EQ(schema_.database().value("SELECT sum(amount) FROM " + table), "10");
}

TEST_F(OwnSink, HasBesideItAClientThatKeepsAnOrdersKeyOverItsRestart) {
    const RecordingServer server([](const RecordedCall&, int call) -> RecordedAnswer {
        // So late that the client does not wait for it.
        if (call == 1) return {.status = 503, .headers = {{"Retry-After", "3600"}}};
        return {.status = 201, .headers = {{"Idempotent-Replayed", "true"}}};
    });
    EXPECT_EQ(place(server, "7", "150"), 75) << contents(placing_);
    EXPECT_EQ(place(server, "7", "200"), 75)
        << "another request in the place of one whose fate is open";
    EXPECT_EQ(server.calls().size(), 1U);
    EXPECT_EQ(place(server, "7", "150"), 0);
    EXPECT_EQ(contents(placing_), "placed order 7 (before)\n");
    ASSERT_EQ(server.calls().size(), 2U);
    EXPECT_EQ(server.counts().size(), 1U) << "the key was minted again";
    for (const RecordedCall& call : server.calls()) {
        EXPECT_EQ(call.path, "/orders/7");
        EXPECT_EQ(call.body, R"({"amount":150})");
    }
}

TEST_F(OwnSink, HasBesideItAClientThatTakesARedirectForNoOrder) {
    const RecordingServer server([](const RecordedCall& call, int number) -> RecordedAnswer {
        if (call.path == "/orders/9" && number == 1) {
            return {.status = 503, .headers = {{"Retry-After", "3600"}}};
        }
        return {.status = 302, .headers = {{"Location", "/moved"}}};
    });
    EXPECT_EQ(place(server, "8", "150"), 1);
    EXPECT_EQ(contents(placing_), "order 8 is answered with 302\n");
    EXPECT_EQ(place(server, "9", "150"), 75) << contents(placing_);
    EXPECT_EQ(place(server, "9", "150"), 75) << "it says nothing of the call before it";
    EXPECT_EQ(server.calls().size(), 3U);
    EXPECT_EQ(server.counts().size(), 2U) << "the key was minted again";
}

TEST_F(OwnSink, AddsEachKeysAmountOnce) {
    const std::string table =
        schema_.user_table("balances", "account bigint PRIMARY KEY, balance numeric NOT NULL");
    MockCluster cluster;
    cluster.create_topic("payments", 3);
    Producer producer({.bootstrap_servers = cluster.bootstrap_servers(), .properties = {}});
    for (int i = 0; i < 900; ++i) {
        const std::string key = '"' + std::to_string(i % 600) + '"';
        const std::string payload =
            R"({"account": )" + std::to_string(i % 3) + R"(, "amount": 0.5})";
        const Header header{"Idempotency-Key", key};
        OutgoingRecord record;
        record.topic = "payments";
        record.partition = Partition{i / 100 % 3};
        record.payload = i == 700 ? std::string_view("{}") : payload;
        record.headers = std::span(&header, 1);
        producer.send(record);
    }
    ASSERT_TRUE(producer.flush(30s));

    const fs::path output = folder_ / "worker.log";
    ChildProcess worker({.command = {program("own_sink"), cluster.bootstrap_servers(),
                                     schema_.worker().dsn.reveal(), "payments", table},
                         .environment = {"ONCEWARD_EXAMPLE_SCHEMA=" + schema_.name()},
                         .output = output,
                         .folder = {},
                         .identity = {}});
    Database& database = schema_.database();
    EXPECT_TRUE(eventually(60s, [&] {
        return database.number(
                   "SELECT coalesce(sum(applied + duplicates + conflicts + dead_lettered + "
                   "skipped), 0) FROM fences") == 900;
    })) << tail_of(output);
    worker.send(SIGTERM);
    const std::optional<int> status = worker.wait(30s);
    ASSERT_TRUE(status) << tail_of(output);
    EXPECT_EQ(*status, 0) << tail_of(output);
    EXPECT_EQ(
        database.value("SELECT string_agg(balance::text, ' ' ORDER BY account) FROM balances"),
        "100.0 100.0 100.0");
    EXPECT_THAT(contents(output),
                ::testing::HasSubstr("applied 600, duplicates 299, dead-lettered 1"));
}

}  // namespace
}  // namespace onceward::support
