#include "gateway/requests/route_traffic.h"

#include <gmock/gmock.h>

#include "gateway/http/log_gate.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

std::size_t taken(RequestRoom& room, std::size_t route) {
    std::size_t count = 0;
    while (room.enter(route)) ++count;
    return count;
}

TEST(RequestRoomTest, OneBusyRouteLeavesAFifthAndSeveralLeaveSome) {
    RequestRoom room(1000, {0, 0, 0});
    EXPECT_EQ(taken(room, 0), 800U);
    EXPECT_EQ(taken(room, 1), 160U);
    EXPECT_EQ(taken(room, 2), 32U);
    for (int i = 0; i < 800; ++i) room.leave(0);
    EXPECT_EQ(room.under_way(0), 0U);
    EXPECT_TRUE(room.enter(2));
    EXPECT_TRUE(room.enter(1));
}

TEST(RequestRoomTest, ABoundOfTheRoutesOwnCountsAlone) {
    RequestRoom room(10, {3, 20});
    EXPECT_EQ(taken(room, 0), 3U);
    EXPECT_EQ(taken(room, 1), 20U);
    room.leave(0);
    EXPECT_EQ(taken(room, 0), 1U);
}

TEST(RequestRoomTest, OneConnectionTakesOneRequest) {
    RequestRoom room(1, {0});
    EXPECT_EQ(taken(room, 0), 1U);
}

TEST(RequestTimesTest, EachIsInTheFirstBucketThatItFits) {
    RequestTimes times;
    for (const double seconds : {0.0, 0.001, 0.0011, 30.0, 31.0}) times.observe(seconds);
    EXPECT_EQ(times.counts.front(), 2);
    EXPECT_EQ(times.counts[1], 1);
    EXPECT_EQ(times.counts[13], 1);
    EXPECT_EQ(times.counts.back(), 1);
}

TEST(LogGateTest, OneLineInTenSecondsSaysHowManyWereKeptBack) {
    LogGate gate;
    const LogGate::Clock::time_point now{1000h};
    EXPECT_EQ(gate.pass(now), 0);
    EXPECT_EQ(gate.pass(now + 1s), std::nullopt);
    EXPECT_EQ(gate.pass(now + 9s), std::nullopt);
    EXPECT_EQ(gate.pass(now + 10s), 2);
    EXPECT_EQ(gate.pass(now + 20s), 0);
}

}  // namespace
}  // namespace onceward
