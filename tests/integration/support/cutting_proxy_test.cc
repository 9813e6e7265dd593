#include "tests/support/cutting_proxy.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "lab/embedded/reserved_port.h"
#include "tests/support/eventually.h"
#include "tests/support/frontend_parser.h"
#include "tests/support/kafka.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/postgres.h"
#include "tests/support/unique.h"

namespace onceward::support {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::string message(char type, const std::string& body) {
    const auto size = static_cast<std::uint32_t>(body.size() + 4);
    std::string bytes(1, type);
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift & 255);
    return bytes + body;
}

std::string text(const char* words) { return std::string(words) + '\0'; }

std::string startup(const std::string& parameters) {
    const std::string version("\0\3\0\0", 4);
    return message('x', version + parameters + '\0').substr(1);
}

// Every way to cut a stream into reads must give the same pieces.
TEST(FrontendParser, FindsEachCommitWhereverTheReadsEnd) {
    const std::string begin = message('Q', text("BEGIN"));
    const std::string copy = message('d', "COMMIT is only data here");
    const std::string simple = message('Q', text("SET CONSTRAINTS ALL IMMEDIATE; commit ;"));
    const std::string extended = message('P', text("") + text("COMMIT") + std::string(2, '\0')) +
                                 message('B', "...") + message('E', "...") + message('S', "");
    const std::string other =
        message('Q', text("SELECT 'RECOMMIT'")) + message('Q', text("SELECT recommit"));
    const std::string all = startup(text("application_name") + text("worker")) + begin + copy +
                            simple + extended + other;
    for (std::size_t step = 1; step <= all.size(); ++step) {
        FrontendParser parser;
        std::string passed;
        std::vector<std::string> commits;
        for (std::size_t at = 0; at < all.size(); at += step) {
            for (const FrontendParser::Piece& piece : parser.take(all.substr(at, step))) {
                passed += piece.bytes;
                if (piece.commit) commits.push_back(piece.bytes);
            }
        }
        ASSERT_EQ(passed, all) << step;
        ASSERT_EQ(commits, (std::vector<std::string>{simple, extended})) << step;
        ASSERT_EQ(parser.application_name(), "worker");
    }
}

class CuttingProxyTest : public ::testing::Test {
  protected:
    CuttingProxyTest() {
        schema_.database().execute("CREATE TABLE kept (id int)");
        const std::string dsn = schema_.server().dsn;
        const std::size_t at = dsn.find("port=") + 5;
        proxy_.set_target(static_cast<std::uint16_t>(std::stoi(dsn.substr(at))));
        dsn_ = dsn + " port=" + std::to_string(proxy_.port()) + " application_name=tested";
    }
    // Whether the COMMIT failed for the client.
    bool commit_fails(Database& database) {
        database.execute("BEGIN; INSERT INTO " + schema_.name() + ".kept VALUES (1)");
        try {
            database.execute("COMMIT");
            return false;
        } catch (const DatabaseError&) {
            return true;
        }
    }
    bool eventually_kept(int count) {
        return eventually(milliseconds(10'000), [&] {
            return schema_.database().number("SELECT count(*) FROM kept") == count;
        });
    }
    bool alone() {
        return eventually(milliseconds(10'000), [&] {
            return schema_.database().number(
                       "SELECT count(*) FROM pg_stat_activity WHERE "
                       "application_name = 'tested'") == 0;
        });
    }

    FreshSchema schema_;
    CuttingProxy proxy_{CuttingProxy::Protocol::postgres};
    std::string dsn_;
};

TEST_F(CuttingProxyTest, ChangesNothingUntilItIsTold) {
    Database database(dsn_);
    EXPECT_FALSE(commit_fails(database));
    const std::string long_text(3'000'000, 'x');
    EXPECT_EQ(database.execute("SELECT $1::text", {long_text})[0][0], long_text);
    EXPECT_EQ(proxy_.commits(), 1U);
    EXPECT_EQ(proxy_.cuts(), 0U);
}

TEST_F(CuttingProxyTest, DecidesWhetherACutCommitTookEffect) {
    int kept = 0;
    for (const auto& [fault, takes_effect] :
         std::vector<std::pair<CommitFault, bool>>{{CommitFault::cut_before, false},
                                                   {CommitFault::cut_inside_request, false},
                                                   {CommitFault::cut_after, true},
                                                   {CommitFault::cut_inside_answer, true}}) {
        for (int round = 0; round < 10; ++round) {
            proxy_.on_commit([fault = fault](const ProxiedCommit& commit) {
                return commit.application_name == "tested" ? fault : CommitFault::none;
            });
            Database database(dsn_);
            EXPECT_TRUE(commit_fails(database));
            ASSERT_TRUE(alone());
            kept += takes_effect ? 1 : 0;
            ASSERT_TRUE(eventually_kept(kept)) << static_cast<int>(fault);
        }
    }
    EXPECT_TRUE(eventually(milliseconds(10'000), [&] { return proxy_.cuts() == 40U; }));
}

TEST_F(CuttingProxyTest, SwallowsACommitOrItsAnswerWithoutBreakingTheConnection) {
    int kept = 0;
    for (const CommitFault fault : {CommitFault::hole_before, CommitFault::hole_after}) {
        proxy_.on_commit([=](const ProxiedCommit&) { return fault; });
        Database database(dsn_);
        bool failed = false;
        std::thread client([&] { failed = commit_fails(database); });
        const std::uint64_t seen = fault == CommitFault::hole_before ? 1 : 2;
        EXPECT_TRUE(eventually(milliseconds(10'000), [&] { return proxy_.commits() == seen; }));
        kept += fault == CommitFault::hole_after ? 1 : 0;
        EXPECT_TRUE(eventually_kept(kept));
        proxy_.cut_all();
        client.join();
        EXPECT_TRUE(failed);
        EXPECT_TRUE(alone());
        EXPECT_TRUE(eventually_kept(kept));
    }
}

TEST_F(CuttingProxyTest, CutsAtAByteOfEitherDirection) {
    proxy_.cut_at(CuttingProxy::Direction::to_client, 20);
    EXPECT_THROW(Database{dsn_}, DatabaseError);
    proxy_.cut_at(CuttingProxy::Direction::to_server, 1000);
    Database database(dsn_);
    EXPECT_THROW(database.execute("SELECT '" + std::string(1000, 'x') + "'"), DatabaseError);
    proxy_.cut_nowhere();
    Database(dsn_).execute("SELECT 1");
}

TEST_F(CuttingProxyTest, HoldsEverythingBackInABlackHoleAndLetsItGoAgain) {
    Database database(dsn_);
    proxy_.black_hole(true);
    EXPECT_THROW(Database(dsn_ + " connect_timeout=2"), DatabaseError);
    bool answered = false;
    std::thread client([&] {
        database.execute("SELECT 1");
        answered = true;
    });
    proxy_.black_hole(false);
    client.join();
    EXPECT_TRUE(answered);
}

TEST_F(CuttingProxyTest, HoldsAnswersBackWhileWhatIsAskedArrives) {
    Database database(dsn_);
    proxy_.hold_answers(true);
    std::atomic<bool> answered = false;
    std::thread client([&] {
        database.execute("INSERT INTO " + schema_.name() + ".kept VALUES (1)");
        answered = true;
    });
    EXPECT_TRUE(eventually_kept(1));
    EXPECT_FALSE(answered);
    proxy_.hold_answers(false);
    client.join();
    EXPECT_TRUE(answered);
}

TEST_F(CuttingProxyTest, DelaysAndRefuses) {
    Database database(dsn_);
    proxy_.delay(milliseconds(50));
    const auto begin = steady_clock::now();
    database.execute("SELECT 1");
    EXPECT_GE(steady_clock::now() - begin, milliseconds(100));
    proxy_.delay(milliseconds(0));
    proxy_.refuse(true);
    EXPECT_THROW(Database{dsn_}, DatabaseError);
    database.execute("SELECT 1");
    proxy_.cut_all();
    EXPECT_THROW(database.execute("SELECT 1"), DatabaseError);
}

TEST(CuttingProxyWithKafka, StandsInFrontOfABroker) {
    KafkaBrokerOptions options;
    const ReservedPort port;
    options.port = port.number();
    CuttingProxy proxy(CuttingProxy::Protocol::bytes, options.port);
    options.advertised_port = proxy.port();
    KafkaBroker broker(options);
    Kafka kafka("127.0.0.1:" + std::to_string(proxy.port()));
    kafka.create_topic("kept", 1);
    kafka.produce("kept", {{0, "k", "v", {}, 0}});
    proxy.black_hole(true);
    EXPECT_FALSE(kafka.answers(milliseconds(300)));
    proxy.black_hole(false);
    proxy.cut_all();
    EXPECT_EQ(kafka.read_all("kept", 1).size(), 1U);
}

}  // namespace
}  // namespace onceward::support
