#include "lab/bench/distant_standby.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/database.h"
#include "tests/support/eventually.h"

namespace onceward {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using support::Database;

// The state that /proc has of a process: `T` when it is stopped.
char state_of(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t end = text.rfind(") ");
    return end == std::string::npos ? '-' : text[end + 2];
}

// Stopped from the constructor's return to resume().
class Stopped {
  public:
    explicit Stopped(const PrivatePostgres& server) : processes_(children_of(server.pid())) {
        processes_.push_back(server.pid());
        for (const pid_t process : processes_) kill(process, SIGSTOP);
        for (const pid_t process : processes_) {
            EXPECT_TRUE(support::eventually(seconds(20), [&] { return state_of(process) == 'T'; }));
        }
    }
    ~Stopped() { resume(); }
    Stopped(const Stopped&) = delete;
    Stopped& operator=(const Stopped&) = delete;
    void resume() {
        for (const pid_t process : processes_) kill(process, SIGCONT);
        processes_.clear();
    }

  private:
    std::vector<pid_t> processes_;
};

class DistantStandbyTest : public ::testing::Test {
  protected:
    static constexpr milliseconds round_trip{5};

    // Whether a session waits for the standby's answer.
    bool waits(int session) {
        return watcher_.number("SELECT count(*) FROM pg_stat_activity WHERE pid = " +
                               std::to_string(session) + " AND wait_event = 'SyncRep'") == 1;
    }

    PrivatePostgres primary_;
    Database watcher_{primary_.dsn()};
};

TEST_F(DistantStandbyTest, ALoneCommitTakesTheRoundTripAtLeast) {
    const bench::DistantStandby standby(primary_, round_trip);
    Database session(primary_.dsn());
    session.execute("CREATE TABLE kept (id int)");
    for (int id = 0; id < 20; ++id) {
        const auto begin = steady_clock::now();
        session.execute("INSERT INTO kept VALUES (" + std::to_string(id) + ")");
        EXPECT_GE(steady_clock::now() - begin, round_trip);
    }
    Database there(standby.server().dsn());
    EXPECT_EQ(there.value("SELECT pg_is_in_recovery()"), "t");
    EXPECT_TRUE(support::eventually(
        seconds(20), [&] { return there.number("SELECT count(*) FROM kept") == 20; }));
}

TEST_F(DistantStandbyTest, NoCommitReturnsWhileTheStandbyIsStopped) {
    const bench::DistantStandby standby(primary_, round_trip);
    Database session(primary_.dsn());
    session.execute("CREATE TABLE kept (id int)");
    Stopped stopped(standby.server());
    std::atomic<bool> returned = false;
    std::thread client([&] {
        session.execute("INSERT INTO kept VALUES (1)");
        returned = true;
    });
    EXPECT_TRUE(support::eventually(seconds(20), [&] { return waits(session.pid()); }));
    EXPECT_FALSE(returned);
    EXPECT_EQ(watcher_.number("SELECT count(*) FROM kept"), 0) << "others see it already";
    stopped.resume();
    client.join();
    EXPECT_EQ(watcher_.number("SELECT count(*) FROM kept"), 1);
}

TEST_F(DistantStandbyTest, ThePrimaryCommitsAloneAgainWhenTheStandbyIsGone) {
    {
        const bench::DistantStandby standby(primary_, round_trip);
    }
    ASSERT_TRUE(support::eventually(
        seconds(20), [&] { return watcher_.value("SHOW synchronous_standby_names").empty(); }));
    watcher_.execute("CREATE TABLE kept (id int)");
}

}  // namespace
}  // namespace onceward
