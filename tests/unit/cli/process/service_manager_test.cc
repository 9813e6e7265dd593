// What a process tells systemd, received as systemd would.

#include "cli/process/service_manager.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <future>

#include "tests/support/notify_socket.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr auto soon = 10s;  // for what must come: a message is there when the call returns
constexpr auto none = 0ms;  // for what must not

ProcessStatus well() {
    Worker::Status status;
    status.connected = true;
    status.joined = true;
    status.poll_limit = 300s;
    ProcessStatus process;
    process.workers.push_back({0, status, ""});
    return process;
}

class ServiceManagerTest : public testing::Test {
  protected:
    ServiceManagerTest() {
        setenv("NOTIFY_SOCKET", socket_.path().c_str(), 1);
        setenv("WATCHDOG_USEC", "30000000", 1);
    }
    ~ServiceManagerTest() override {
        unsetenv("NOTIFY_SOCKET");
        unsetenv("WATCHDOG_USEC");
    }
    void tend(ServiceManager& manager) {
        manager.tend(
            [this] {
                ++asked_;
                return process_;
            },
            now_);
        now_ += 1s;
    }
    support::NotifySocket socket_;
    ProcessStatus process_ = well();
    ServiceManager::Clock::time_point now_ = ServiceManager::Clock::now();
    int asked_ = 0;
};

TEST_F(ServiceManagerTest, HearsThatTheStartIsComplete) {
    ServiceManager().ready();
    EXPECT_EQ(socket_.receive(soon), "READY=1");
}

TEST_F(ServiceManagerTest, GetsASignOfLifeEachSecondAndTheStatusIfItChanged) {
    ServiceManager manager;
    tend(manager);
    EXPECT_EQ(socket_.receive(soon), "STATUS=ready\nWATCHDOG=1");
    tend(manager);
    EXPECT_EQ(socket_.receive(soon), "WATCHDOG=1");
    now_ -= 500ms;
    tend(manager);
    EXPECT_EQ(socket_.receive(none), "") << "half a second later";
}

TEST_F(ServiceManagerTest, GetsNoSignOfLifeFromAReaderThatNoLongerPolls) {
    ServiceManager manager;
    process_.workers[0].status->since_poll = 151s;
    tend(manager);
    EXPECT_EQ(socket_.receive(soon), "STATUS=ready");
    tend(manager);
    EXPECT_EQ(socket_.receive(none), "");
    process_.workers[0].status->since_poll = 1s;
    tend(manager);
    EXPECT_EQ(socket_.receive(soon), "WATCHDOG=1") << "it polls again";
}

TEST_F(ServiceManagerTest, GetsSignsOfLifeInAnOutageWhichARestartWouldNotEnd) {
    ServiceManager manager;
    process_.workers[0].status->connected = false;
    process_.workers[0].status->postgres_failure = "gone\nMAINPID=1";
    tend(manager);
    const std::string message = socket_.receive(soon);
    EXPECT_EQ(message.find("\nMAINPID"), std::string::npos) << message;
    EXPECT_NE(message.find("STATUS=not ready: worker 0: postgres: gone"), std::string::npos)
        << message;
    EXPECT_TRUE(message.ends_with("\nWATCHDOG=1")) << message;
}

TEST_F(ServiceManagerTest, WaitsForTheDrainWithoutSignsOfLife) {
    ServiceManager manager;
    manager.stopping(85s);
    EXPECT_EQ(socket_.receive(soon),
              "STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=85000000\nWATCHDOG=1\n"
              "WATCHDOG_USEC=85000000");
}

TEST_F(ServiceManagerTest, HearsOfAReloadWithItsTime) {
    ServiceManager manager;
    manager.reloading();
    EXPECT_TRUE(socket_.receive(soon).starts_with("RELOADING=1\nMONOTONIC_USEC="));
    manager.ready();
    EXPECT_EQ(socket_.receive(soon), "READY=1");
}

TEST_F(ServiceManagerTest, GetsNoSignsOfLifeThatItDoesNotWant) {
    unsetenv("WATCHDOG_USEC");
    ServiceManager manager;
    tend(manager);
    EXPECT_EQ(socket_.receive(soon), "STATUS=ready");
    manager.stopping(1s);
    EXPECT_EQ(socket_.receive(soon), "STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=1000000");
}

TEST_F(ServiceManagerTest, ThatReadsNothingHoldsUpNothingAndHearsTheLastStateLater) {
    ServiceManager manager;
    manager.ready();
    socket_.fill();
    // In a thread of its own, so that a call that waits ends with this test.
    auto calls = std::async(std::launch::async, [&] {
        manager.ready();
        tend(manager);
        for (int i = 0; i < 3; ++i) {
            manager.reloading();
            manager.ready();
        }
        tend(manager);
    });
    const bool returned = calls.wait_for(soon) == std::future_status::ready;
    EXPECT_TRUE(returned);
    EXPECT_EQ(asked_, 0) << "no status is made that it would not take";
    EXPECT_EQ(socket_.receive(soon), "READY=1");
    while (socket_.receive(none) == "FILL=1") continue;
    calls.wait();
    tend(manager);
    EXPECT_TRUE(socket_.receive(soon).starts_with("RELOADING=1\nMONOTONIC_USEC="));
    EXPECT_EQ(socket_.receive(soon), "READY=1");
    EXPECT_EQ(socket_.receive(soon), "STATUS=ready\nWATCHDOG=1");
    EXPECT_EQ(socket_.receive(none), "");
}

TEST_F(ServiceManagerTest, HearsOfTheDrainAsSoonAsItReadsAgainAndOfNoEarlierReload) {
    ServiceManager manager;
    socket_.fill();
    auto calls = std::async(std::launch::async, [&] {
        manager.reloading();
        manager.stopping(85s);
    });
    EXPECT_EQ(calls.wait_for(soon), std::future_status::ready);
    EXPECT_TRUE(socket_.receives("STOPPING=1\nSTATUS=draining", soon));
    EXPECT_EQ(socket_.receive(none), "");
}

TEST_F(ServiceManagerTest, ThatNeverReadsDoesNotKeepTheProcessFromItsEnd) {
    socket_.fill();
    auto calls = std::async(std::launch::async, [] { ServiceManager().stopping(85s); });
    EXPECT_EQ(calls.wait_for(soon), std::future_status::ready);
    while (socket_.receive(none) == "FILL=1") continue;
}

TEST_F(ServiceManagerTest, GetsAStatusAgainThatItDidNotTake) {
    ServiceManager manager;
    tend(manager);
    EXPECT_EQ(socket_.receive(soon), "STATUS=ready\nWATCHDOG=1");
    process_.draining = true;
    socket_.fill();
    tend(manager);
    while (socket_.receive(none) == "FILL=1") continue;
    tend(manager);
    EXPECT_EQ(socket_.receive(soon), "STATUS=not ready: draining\nWATCHDOG=1");
}

TEST_F(ServiceManagerTest, IsToldOnceItIsThere) {
    setenv("NOTIFY_SOCKET", (socket_.path() + "-later").c_str(), 1);
    ServiceManager manager;
    manager.ready();
    std::filesystem::rename(socket_.path(), socket_.path() + "-later");
    tend(manager);
    EXPECT_EQ(socket_.receive(soon), "READY=1");
    std::filesystem::rename(socket_.path() + "-later", socket_.path());
}

TEST_F(ServiceManagerTest, WithoutOneTheProcessIsNotEvenAsked) {
    unsetenv("NOTIFY_SOCKET");
    ServiceManager manager;
    manager.ready();
    tend(manager);
    manager.stopping(1s);
    EXPECT_EQ(asked_, 0);
    EXPECT_EQ(socket_.receive(none), "");
}

TEST(StatusLine, NamesTheFirstReasonAndHowManyThereAreBesides) {
    EXPECT_EQ(status_line({}), "ready");
    EXPECT_EQ(status_line({{"draining"}}), "not ready: draining");
    EXPECT_EQ(status_line({{"a", "b", "c"}}), "not ready: a (and 2 more)");
}

}  // namespace
}  // namespace onceward
