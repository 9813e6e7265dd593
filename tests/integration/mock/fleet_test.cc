#include "lab/demo/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::demo {
namespace {

using std::chrono::milliseconds;
using support::eventually;
using testing::HasSubstr;

constexpr milliseconds fleet_patience{60'000};

class FleetTest : public testing::Test {
  protected:
    FleetTest() { std::filesystem::create_directory(folder_); }
    ~FleetTest() override { std::filesystem::remove_all(folder_); }

    // A worker that leaves in order: it says when it listens for SIGTERM.
    FleetOptions options(const std::string& script =
                             "trap 'exit 0' TERM; echo ready; while :; do read -t 0.02; done") {
        return {{"bash", "-c", script}, folder_, 2};
    }
    static std::string text_of(const std::filesystem::path& file) {
        std::ifstream stream(file);
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    static void wait_until_ready(const Fleet& fleet) {
        for (int worker = 0; worker < fleet.size(); ++worker) {
            ASSERT_TRUE(eventually(fleet_patience, [&] {
                return text_of(fleet.log(worker)).find("ready") != std::string::npos;
            }));
        }
    }
    template <class Action>
    static std::string error_of(Action action) {
        try {
            action();
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return "no error";
    }

    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / support::unique_name("fleet");
};

TEST_F(FleetTest, AKilledWorkerIsReplaced) {
    Fleet fleet(options());
    const pid_t before = fleet.pid(0);
    const pid_t other = fleet.pid(1);
    fleet.kill(0);
    EXPECT_NE(fleet.pid(0), before);
    EXPECT_EQ(fleet.pid(1), other);
    EXPECT_EQ(fleet.killed(), 1);
    fleet.check();
}

TEST_F(FleetTest, AFrozenWorkerSleepsForItsTime) {
    Fleet fleet(options());
    fleet.freeze(1, milliseconds{200});
    EXPECT_EQ(fleet.frozen(), 1);
    EXPECT_TRUE(fleet.any_frozen());
    EXPECT_THAT(fleet.wake_due(), testing::IsEmpty());
    EXPECT_THAT(text_of("/proc/" + std::to_string(fleet.pid(1)) + "/status"),
                HasSubstr("T (stopped)"));
    std::vector<int> woken;
    ASSERT_TRUE(eventually(fleet_patience, [&] { return !(woken = fleet.wake_due()).empty(); }));
    EXPECT_THAT(woken, testing::ElementsAre(1));
    EXPECT_FALSE(fleet.any_frozen());
    fleet.check();
}

TEST_F(FleetTest, AWorkerThatEndsByItselfIsNoticed) {
    Fleet fleet(options("echo the reason; exit 70"));
    std::string error;
    ASSERT_TRUE(eventually(fleet_patience, [&] {
        error = error_of([&] { fleet.check(); });
        return error != "no error";
    }));
    EXPECT_THAT(error, HasSubstr("ended by itself with exit status 70"));
    EXPECT_THAT(error, HasSubstr("the reason"));
}

TEST_F(FleetTest, StopWakesTheFrozenAndEndsAllInOrder) {
    Fleet fleet(options());
    wait_until_ready(fleet);
    fleet.freeze(0, milliseconds{60'000});
    EXPECT_EQ(error_of([&] { fleet.stop(); }), "no error");
}

TEST_F(FleetTest, AWorkerThatLeavesWithAnErrorIsNoticed) {
    Fleet fleet(options("trap 'exit 3' TERM; echo ready; while :; do read -t 0.02; done"));
    wait_until_ready(fleet);
    EXPECT_THAT(error_of([&] { fleet.stop(); }),
                HasSubstr("left after SIGTERM with exit status 3"));
}

}  // namespace
}  // namespace onceward::demo
